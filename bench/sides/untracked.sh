# untracked - a managed queue that counts nothing.

. "$bench/sides/queue_ext-update.sh"
title='queue_ext, `update`, `track_stats` off'
side_options="${side_options:-} -c queue_ext.track_stats=off"
