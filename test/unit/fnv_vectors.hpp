// fnv_vectors.hpp - inputs with their four FNV hashes, as others computed them.
//
// `published` are the values that Landon Curt Noll, one of the authors of FNV,
// publishes for these inputs (his test program has a row for each; the rows of
// web addresses are left out here). `computed_by_go` are results of Go 1.19's
// hash/fnv. None of them was computed by the code under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fnv_vectors {

using namespace std::literals;

struct Vector
{
	std::string_view unit;
	std::size_t times; // the input is `unit`, repeated
	std::uint32_t fnv1_32;
	std::uint32_t fnv1a_32;
	std::uint64_t fnv1_64;
	std::uint64_t fnv1a_64;

	std::string input() const
	{
		std::string whole;
		for (std::size_t i = 0; i < times; i++)
			whole += unit;
		return whole;
	}
};

// One line a vector. Bytes that do not print are octal, which ends after three digits.
// clang-format off
inline constexpr Vector published[] = {
	{""sv, 1, 0x811c9dc5, 0x811c9dc5, 0xcbf29ce484222325, 0xcbf29ce484222325},
	{"a"sv, 1, 0x050c5d7e, 0xe40c292c, 0xaf63bd4c8601b7be, 0xaf63dc4c8601ec8c},
	{"b"sv, 1, 0x050c5d7d, 0xe70c2de5, 0xaf63bd4c8601b7bd, 0xaf63df4c8601f1a5},
	{"c"sv, 1, 0x050c5d7c, 0xe60c2c52, 0xaf63bd4c8601b7bc, 0xaf63de4c8601eff2},
	{"d"sv, 1, 0x050c5d7b, 0xe10c2473, 0xaf63bd4c8601b7bb, 0xaf63d94c8601e773},
	{"e"sv, 1, 0x050c5d7a, 0xe00c22e0, 0xaf63bd4c8601b7ba, 0xaf63d84c8601e5c0},
	{"f"sv, 1, 0x050c5d79, 0xe30c2799, 0xaf63bd4c8601b7b9, 0xaf63db4c8601ead9},
	{"fo"sv, 1, 0x6b772514, 0x6222e842, 0x08326207b4eb2f34, 0x08985907b541d342},
	{"foo"sv, 1, 0x408f5e13, 0xa9f37ed7, 0xd8cbc7186ba13533, 0xdcb27518fed9d577},
	{"foob"sv, 1, 0xb4b1178b, 0x3f5076ef, 0x0378817ee2ed65cb, 0xdd120e790c2512af},
	{"fooba"sv, 1, 0xfdc80fb0, 0x39aaa18a, 0xd329d59b9963f790, 0xcac165afa2fef40a},
	{"foobar"sv, 1, 0x31f0b262, 0xbf9cf968, 0x340d8765a4dda9c2, 0x85944171f73967e8},
	{"\000"sv, 1, 0x050c5d1f, 0x050c5d1f, 0xaf63bd4c8601b7df, 0xaf63bd4c8601b7df},
	{"a\000"sv, 1, 0x70772d5a, 0x2b24d044, 0x08326707b4eb37da, 0x089be207b544f1e4},
	{"b\000"sv, 1, 0x6f772bc7, 0x9d2c3f7f, 0x08326607b4eb3627, 0x08a61407b54d9b5f},
	{"c\000"sv, 1, 0x6e772a34, 0x7729c516, 0x08326507b4eb3474, 0x08a2ae07b54ab836},
	{"d\000"sv, 1, 0x6d7728a1, 0xb91d6109, 0x08326407b4eb32c1, 0x0891b007b53c4869},
	{"e\000"sv, 1, 0x6c77270e, 0x931ae6a0, 0x08326307b4eb310e, 0x088e4a07b5396540},
	{"f\000"sv, 1, 0x6b77257b, 0x052255db, 0x08326207b4eb2f5b, 0x08987c07b5420ebb},
	{"fo\000"sv, 1, 0x408f5e7c, 0xbef39fe6, 0xd8cbc7186ba1355c, 0xdcb28a18fed9f926},
	{"foo\000"sv, 1, 0xb4b117e9, 0x6150ac75, 0x0378817ee2ed65a9, 0xdd1270790c25b935},
	{"foob\000"sv, 1, 0xfdc80fd1, 0x9aab3a3d, 0xd329d59b9963f7f1, 0xcac146afa2febf5d},
	{"fooba\000"sv, 1, 0x31f0b210, 0x519c4c3e, 0x340d8765a4dda9b0, 0x8593d371f738acfe},
	{"foobar\000"sv, 1, 0xffe8d046, 0x0c1c9eb8, 0x50a6d3b724a774a6, 0x34531ca7168b8f38},
	{"ch"sv, 1, 0x6e772a5c, 0x5f299f4e, 0x08326507b4eb341c, 0x08a25607b54a22ae},
	{"cho"sv, 1, 0x4197aebb, 0xef8580f3, 0xd8d5c8186ba98bfb, 0xf5faf0190cf90df3},
	{"chon"sv, 1, 0xfcc8100f, 0xac297727, 0x1ccefc7ef118dbef, 0xf27397910b3221c7},
	{"chong"sv, 1, 0xfdf147fa, 0x4546b9c0, 0x0c92fab3ad3db77a, 0x2c8c2b76062f22e0},
	{"chongo"sv, 1, 0xbcd44ee1, 0xbd564e7d, 0x9b77794f5fdec421, 0xe150688c8217b8fd},
	{"chongo "sv, 1, 0x23382c13, 0x6bdd5c67, 0x0ac742dfe7874433, 0xf35a83c10e4f1f87},
	{"chongo w"sv, 1, 0x846d619e, 0xdd77ed30, 0xd7dad5766ad8e2de, 0xd1edd10b507344d0},
	{"chongo wa"sv, 1, 0x1630abdb, 0xf4ca9683, 0xa1bb96378e897f5b, 0x2a5ee739b3ddb8c3},
	{"chongo was"sv, 1, 0xc99e89b2, 0x4aeb9bd0, 0x5b3f9b6733a367d2, 0xdcfb970ca1c0d310},
	{"chongo was "sv, 1, 0x1692c316, 0xe0e67ad0, 0xb07ce25cbea969f6, 0x4054da76daa6da90},
	{"chongo was h"sv, 1, 0x9f091bca, 0xc2d32fa8, 0x8d9e9997f9df0d6a, 0xf70a2ff589861368},
	{"chongo was he"sv, 1, 0x2556be9b, 0x7f743fb7, 0x838c673d9603cb7b, 0x4c628b38aed25f17},
	{"chongo was her"sv, 1, 0x628e0e73, 0x6900631f, 0x8b5ee8a5e872c273, 0x9dd1f6510f78189f},
	{"chongo was here"sv, 1, 0x98a0bf6c, 0xc59c990e, 0x4507c4e9fb00690c, 0xa3de85bd491270ce},
	{"chongo was here!"sv, 1, 0xb10d5725, 0x448524fd, 0x4c9ca59581b27f45, 0x858e2fa32a55e61d},
	{"chongo was here!\n"sv, 1, 0xdd002f35, 0xd49930d5, 0xe0aca20b624e4235, 0x46810940eff5f915},
	{"ch\000"sv, 1, 0x4197aed4, 0x1c85c7ca, 0xd8d5c8186ba98b94, 0xf5fadd190cf8edaa},
	{"cho\000"sv, 1, 0xfcc81061, 0x0229fe89, 0x1ccefc7ef118db81, 0xf273ed910b32b3e9},
	{"chon\000"sv, 1, 0xfdf1479d, 0x2c469265, 0x0c92fab3ad3db71d, 0x2c8c5276062f6525},
	{"chong\000"sv, 1, 0xbcd44e8e, 0xce566940, 0x9b77794f5fdec44e, 0xe150b98c821842a0},
	{"chongo\000"sv, 1, 0x23382c33, 0x8bdd8ec7, 0x0ac742dfe7874413, 0xf35aa3c10e4f55e7},
	{"chongo \000"sv, 1, 0x846d61e9, 0x34787625, 0xd7dad5766ad8e2a9, 0xd1ed680b50729265},
	{"chongo w\000"sv, 1, 0x1630abba, 0xd3ca6290, 0xa1bb96378e897f3a, 0x2a5f0639b3dded70},
	{"chongo wa\000"sv, 1, 0xc99e89c1, 0xddeaf039, 0x5b3f9b6733a367a1, 0xdcfbaa0ca1c0f359},
	{"chongo was\000"sv, 1, 0x1692c336, 0xc0e64870, 0xb07ce25cbea969d6, 0x4054ba76daa6a430},
	{"chongo was \000"sv, 1, 0x9f091ba2, 0xdad35570, 0x8d9e9997f9df0d02, 0xf709c7f5898562b0},
	{"chongo was h\000"sv, 1, 0x2556befe, 0x5a740578, 0x838c673d9603cb1e, 0x4c62e638aed2f9b8},
	{"chongo was he\000"sv, 1, 0x628e0e01, 0x5b004d15, 0x8b5ee8a5e872c201, 0x9dd1a8510f779415},
	{"chongo was her\000"sv, 1, 0x98a0bf09, 0x6a9c09cd, 0x4507c4e9fb006969, 0xa3de2abd4911d62d},
	{"chongo was here\000"sv, 1, 0xb10d5704, 0x2384f10a, 0x4c9ca59581b27f64, 0x858e0ea32a55ae0a},
	{"chongo was here!\000"sv, 1, 0xdd002f3f, 0xda993a47, 0xe0aca20b624e423f, 0x46810f40eff60347},
	{"chongo was here!\n\000"sv, 1, 0x1c4a506f, 0x8227df4f, 0x13998e580afa800f, 0xc33bce57bef63eaf},
	{"cu"sv, 1, 0x6e772a41, 0x4c298165, 0x08326507b4eb3401, 0x08a24307b54a0265},
	{"cur"sv, 1, 0x26978421, 0xfc563735, 0xd8d5ad186ba95dc1, 0xf5b9fd190cc18d15},
	{"curd"sv, 1, 0xe184ff97, 0x8cb91483, 0x1c72e17ef0ca4e97, 0x4c968290ace35703},
	{"curds"sv, 1, 0x9b5e5ac6, 0x775bf5d0, 0x2183c1b327c38ae6, 0x07174bd5c64d9350},
	{"curds "sv, 1, 0x5b88e592, 0xd5c428d0, 0xb66d096c914504f2, 0x5a294c3ff5d18750},
	{"curds a"sv, 1, 0xaa8164b7, 0x34cc0ea3, 0x404bf57ad8476757, 0x05b3c1aeb308b843},
	{"curds an"sv, 1, 0x20b18c7b, 0xea3b4cb7, 0x887976bd815498bb, 0xb92a48da37d0f477},
	{"curds and"sv, 1, 0xf28025c5, 0x8e59f029, 0x3afd7f02c2bf85a5, 0x73cdddccd80ebc49},
	{"curds and "sv, 1, 0x84bb753f, 0x2094de2b, 0xfc4476b0eb70177f, 0xd58c4c13210a266b},
	{"curds and w"sv, 1, 0x3219925a, 0xa65a0ad4, 0x186d2da00f77ecba, 0xe78b6081243ec194},
	{"curds and wh"sv, 1, 0x384163c6, 0x9bbee5f4, 0xf97140fa48c74066, 0xb096f77096a39f34},
	{"curds and whe"sv, 1, 0x54f010d7, 0xbe836343, 0xa2b1cf49aa926d37, 0xb425c54ff807b6a3},
	{"curds and whey"sv, 1, 0x8cea820c, 0x22d5344e, 0x0690712cd6cf940c, 0x23e520e2751bb46e},
	{"curds and whey\n"sv, 1, 0xe12ab8ee, 0x19a1470c, 0xf7045b3102b8906e, 0x1a0b44ccfe1385ec},
	{"cu\000"sv, 1, 0x26978453, 0x4a56b1ff, 0xd8d5ad186ba95db3, 0xf5ba4b190cc2119f},
	{"cur\000"sv, 1, 0xe184fff3, 0x70b8e86f, 0x1c72e17ef0ca4ef3, 0x4c962690ace2baaf},
	{"curd\000"sv, 1, 0x9b5e5ab5, 0x0a5b4a39, 0x2183c1b327c38a95, 0x0716ded5c64cda19},
	{"curds\000"sv, 1, 0x5b88e5b2, 0xb5c3f670, 0xb66d096c914504d2, 0x5a292c3ff5d150f0},
	{"curds \000"sv, 1, 0xaa8164d6, 0x53cc3f70, 0x404bf57ad8476736, 0x05b3e0aeb308ecf0},
	{"curds a\000"sv, 1, 0x20b18c15, 0xc03b0a99, 0x887976bd815498d5, 0xb92a5eda37d119d9},
	{"curds an\000"sv, 1, 0xf28025a1, 0x7259c415, 0x3afd7f02c2bf85c1, 0x73ce41ccd80f6635},
	{"curds and\000"sv, 1, 0x84bb751f, 0x4095108b, 0xfc4476b0eb70175f, 0xd58c2c132109f00b},
	{"curds and \000"sv, 1, 0x3219922d, 0x7559bdb1, 0x186d2da00f77eccd, 0xe78baf81243f47d1},
	{"curds and w\000"sv, 1, 0x384163ae, 0xb3bf0bbc, 0xf97140fa48c7400e, 0xb0968f7096a2ee7c},
	{"curds and wh\000"sv, 1, 0x54f010b2, 0x2183ff1c, 0xa2b1cf49aa926d52, 0xb425a84ff807855c},
	{"curds and whe\000"sv, 1, 0x8cea8275, 0x2bd54279, 0x0690712cd6cf9475, 0x23e4e9e2751b56f9},
	{"curds and whey\000"sv, 1, 0xe12ab8e4, 0x23a156ca, 0xf7045b3102b89064, 0x1a0b4eccfe1396ea},
	{"curds and whey\n\000"sv, 1, 0x64411eaa, 0x64e2d7e4, 0x74f762479f9d6aea, 0x54abd453bb2c9004},
	{"hi"sv, 1, 0x6977223c, 0x683af69a, 0x08326007b4eb2b9c, 0x08ba5f07b55ec3da},
	{"hi\000"sv, 1, 0x428ae474, 0xaed2346e, 0xd8c4c9186b9b1a14, 0x337354193006cb6e},
	{"hello"sv, 1, 0xb6fa7167, 0x4f9f2cab, 0x7b495389bdbdd4c7, 0xa430d84680aabd0b},
	{"hello\000"sv, 1, 0x73408525, 0x02935131, 0x3b6dba0d69908e25, 0xa9bc8acca21f39b1},
	{"\377\000\000\001"sv, 1, 0xb78320a1, 0xc48fb86d, 0xd6b2b17bf4b71261, 0x6961196491cc682d},
	{"\001\000\000\377"sv, 1, 0x0caf4135, 0x2269f369, 0x447bfb7f98e615b5, 0xad2bb1774799dfe9},
	{"\377\000\000\002"sv, 1, 0xb78320a2, 0xc18fb3b4, 0xd6b2b17bf4b71262, 0x6961166491cc6314},
	{"\002\000\000\377"sv, 1, 0xcdc88e80, 0x50ef1236, 0x3bd2807f93fe1660, 0x8d1bb3904a3b1236},
	{"\377\000\000\003"sv, 1, 0xb78320a3, 0xc28fb547, 0xd6b2b17bf4b71263, 0x6961176491cc64c7},
	{"\003\000\000\377"sv, 1, 0x8ee1dbcb, 0x96c3bf47, 0x3329057f8f16170b, 0xed205d87f40434c7},
	{"\377\000\000\004"sv, 1, 0xb78320a4, 0xbf8fb08e, 0xd6b2b17bf4b71264, 0x6961146491cc5fae},
	{"\004\000\000\377"sv, 1, 0x4ffb2716, 0xf3e4d49c, 0x2a7f8a7f8a2e19b6, 0xcd3baf5e44f8ad9c},
	{"@QND"sv, 1, 0x860632aa, 0x32179058, 0x23d3767e64b2f98a, 0xe3b36596127cd6d8},
	{"DNQ@"sv, 1, 0xcc2c5c64, 0x280bfee6, 0xff768d7e4f9d86a4, 0xf77f1072c8e8a646},
	{"@QNJ"sv, 1, 0x860632a4, 0x30178d32, 0x23d3767e64b2f984, 0xe3b36396127cd372},
	{"JNQ@"sv, 1, 0x2a7ec4a6, 0x21addaf8, 0xccd1837e334e4aa6, 0x6067dce9932ad458},
	{"@QNT"sv, 1, 0x860632ba, 0x4217a988, 0x23d3767e64b2f99a, 0xe3b37596127cf208},
	{"TNQ@"sv, 1, 0xfefe8e14, 0x772633d6, 0x7691fd7e028f6754, 0x4b7b10fa9fe83936},
	{"127.0.0.1"sv, 1, 0x0a3cffd8, 0x08a3d11e, 0x34ad3b1041204318, 0xaabafe7104d914be},
	{"127.0.0.1\000"sv, 1, 0xf606c108, 0xb7e2323a, 0xa29e749ea9d201c8, 0xf4d3180b3cde3eda},
	{"127.0.0.2"sv, 1, 0x0a3cffdb, 0x07a3cf8b, 0x34ad3b104120431b, 0xaabafd7104d9130b},
	{"127.0.0.2\000"sv, 1, 0xf906c5c1, 0x91dfb7d1, 0xa29e779ea9d206e1, 0xf4cfb20b3cdb5bb1},
	{"127.0.0.3"sv, 1, 0x0a3cffda, 0x06a3cdf8, 0x34ad3b104120431a, 0xaabafc7104d91158},
	{"127.0.0.3\000"sv, 1, 0xf806c42e, 0x6bdd3d68, 0xa29e769ea9d2052e, 0xf4cc4c0b3cd87888},
	{"64.81.78.68"sv, 1, 0xc07167d7, 0x1d5636a7, 0x02a17ebca4aa3497, 0xe729bac5d2a8d3a7},
	{"64.81.78.68\000"sv, 1, 0xc9867775, 0xd5b808e5, 0x229ef18bcd375c95, 0x74bc0524f4dfa4c5},
	{"64.81.78.74"sv, 1, 0xbf716668, 0x1353e852, 0x02a17dbca4aa32c8, 0xe72630c5d2a5b352},
	{"64.81.78.74\000"sv, 1, 0xc78435b8, 0xbf16b916, 0x229b6f8bcd3449d8, 0x6b983224ef8fb456},
	{"64.81.78.84"sv, 1, 0xc6717155, 0xa55b89ed, 0x02a184bca4aa3ed5, 0xe73042c5d2ae266d},
	{"64.81.78.84\000"sv, 1, 0xb99568cf, 0x3c1a2017, 0x22b3618bcd48c3ef, 0x8527e324fdeb4b37},
	{"feedface"sv, 1, 0x7662e0d6, 0x0588b13c, 0x5c2c346706186f36, 0x0a83c86fee952abc},
	{"feedface\000"sv, 1, 0x33a7f0e2, 0xf22f0174, 0xb78c410f5b84f8c2, 0x7318523267779d74},
	{"feedfacedaffdeed"sv, 1, 0xc2732f95, 0xe83641e1, 0xed9478212b267395, 0x3e66d3d56b8caca1},
	{"feedfacedaffdeed\000"sv, 1, 0xb053e78f, 0x6e69b533, 0xd9bbb55c5256662f, 0x956694a5c0095593},
	{"feedfacedeadbeef"sv, 1, 0x3a19c02a, 0xf1760448, 0x8c54f0203249438a, 0xcac54572bb1a6fc8},
	{"feedfacedeadbeef\000"sv, 1, 0xa089821e, 0x64c8bd58, 0xbd9790b5727dc37e, 0xa7a4c9f3edebf0d8},
	{"line 1\nline 2\nline 3"sv, 1, 0x31ae8f83, 0x97b4ea23, 0xa64e5f36c9e2b0e3, 0x7829851fac17b143},
	{"chongo <Landon Curt Noll> /\\../\\"sv, 1, 0x995fa9c4, 0x9a4e92e6, 0x8fd0680da3088a04, 0x2c8f4c9af81bcf06},
	{"chongo <Landon Curt Noll> /\\../\\\000"sv, 1, 0x35983f8c, 0xcfb14012, 0x67aad32c078284cc, 0xd34e31539740c732},
	{"chongo (Landon Curt Noll) /\\../\\"sv, 1, 0x5036a251, 0xf01b2511, 0xb37d55d81c57b331, 0x3605a2ac253d2db1},
	{"chongo (Landon Curt Noll) /\\../\\\000"sv, 1, 0x97018583, 0x0bbb59c3, 0x55ac0f3829057c43, 0x08c11b8346f4a3c3},
	{"21701"sv, 10, 0xa987f517, 0xe415e2bb, 0x017cc137a07eb057, 0xc4112ffb337a82fb},
	{"M21701"sv, 10, 0xf309e7ed, 0x18a98d1d, 0x9428fc6e7d26b54d, 0xd64a4fd41de38b7d},
	{"2^21701-1"sv, 10, 0xc9e8f417, 0xb7df8b7b, 0x9aaa2e3603ef8ad7, 0x4cfc32329edebcbb},
	{"T\305"sv, 10, 0x7f447bdd, 0x241e9075, 0x82c6d3f3a0ccdf7d, 0x0803564445050395},
	{"\305T"sv, 10, 0xb929adc5, 0x063f70dd, 0xc86eeea00cf09b65, 0xaa1574ecf4642ffd},
	{"23209"sv, 10, 0x57022879, 0x0295aed9, 0x705f8189dbb58299, 0x694bc4e54cc315f9},
	{"M23209"sv, 10, 0xdcfd2c49, 0x56a7f781, 0x415a7f554391ca69, 0xa3d7cb273b011721},
	{"2^23209-1"sv, 10, 0x6edafff5, 0x253bc645, 0xcfe3d49fa2bdc555, 0x577c2f8b6115bfa5},
	{"Z\251"sv, 10, 0xf04fb1f1, 0x46610921, 0xf0f9c56039b25191, 0xb7ec8c1a769fb4c1},
	{"\251Z"sv, 10, 0xfb7de8b9, 0x7c1577f9, 0x7075cb6abd1d32d9, 0x5d5cfce63359ab19},
	{"391581216093"sv, 10, 0xc5f1d7e9, 0x512b2851, 0x43c94e2c8b277509, 0x33b96c3cd65b5f71},
	{"391581*2^216093-1"sv, 10, 0x32c1f439, 0x76823999, 0x3cbfd4e4ea670359, 0xd845097780602bb9},
	{"\005\371\235\003L\201"sv, 10, 0x7fd3eb7d, 0xc0586935, 0xc05887810f4d019d, 0x84d47645d02da3d5},
	{"FEDCBA9876543210"sv, 10, 0x81597da5, 0xf3415c85, 0x14468ff93ac22dc5, 0x83544f33b58773a5},
	{"\376\334\272\230vT2\020"sv, 10, 0x05eb7a25, 0x0ae4ff65, 0xebed699589d99c05, 0x9175cbb2160836c5},
	{"EFCDAB8967452301"sv, 10, 0x9c0fa1b5, 0x58b79725, 0x6d99f6df321ca5d5, 0xc71b3bc175e72bc5},
	{"\357\315\253\211gE#\001"sv, 10, 0x53ccb1c5, 0xdea43aa5, 0x0cd410d08c36d625, 0x636806ac222ec985},
	{"0123456789ABCDEF"sv, 10, 0xfabece15, 0x2bb3be35, 0xef1b2a2c86831d35, 0xb6ef0e6950f52ed5},
	{"\001#Eg\211\253\315\357"sv, 10, 0x4ad745a5, 0xea777a45, 0x3b349c4d69ee5f05, 0xead3d8a0f3dfdaa5},
	{"1032547698BADCFE"sv, 10, 0xe5bdc495, 0x8f21c305, 0x55248ce88f45f035, 0x922908fe9a861ba5},
	{"\0202Tv\230\272\334\376"sv, 10, 0x23b3c0a5, 0x5c9d0865, 0xaa69ca6a18a4c885, 0x6d4821de275fd5c5},
	{"\000"sv, 500, 0xfa823dd5, 0xfa823dd5, 0x1fe3fce62bd816b5, 0x1fe3fce62bd816b5},
	{"\007"sv, 500, 0x0c6c58b9, 0x21a27271, 0x0289a488a8df69d9, 0xc23e9fccd6f70591},
	{"~"sv, 500, 0xe2dbccd5, 0x83c5c6d5, 0x15e96e1613df98b5, 0xc1af12bdfe16b5b5},
	{"\177"sv, 500, 0xdb7f50f9, 0x813b0881, 0xe6be57375ad89b99, 0x39e9f18f2f85e221},
};

inline constexpr Vector computed_by_go[] = {
	{"queue_ext "sv, 1000, 0x59299765, 0x7e6389a5, 0x39106d853dca1245, 0x50ce515e3da07685},
	{"\000"sv, 1048576, 0x545c9dc5, 0x545c9dc5, 0xa96777069d622325, 0xa96777069d622325},
	{"some content for hashing purposes"sv, 1, 0x2d915e78, 0x5a6e906a, 0x19badbee92694498, 0xa9107546dcd14daa},
	{"gr\303\274n"sv, 1, 0xb5c5249f, 0x6058a537, 0x377b8e94f900af1f, 0x01fc6827a8823b37},
	{"\346\227\245\346\234\254\350\252\236"sv, 1, 0xcd76b2f3, 0x805f5ce7, 0x5dbdb1751554f953, 0xee9ee2b5c854ef87},
	{"\346\227\245\346\234\254\350\252\236 gr\303\274n "sv, 300, 0xb0af6a35, 0x4c31e445, 0x942a236a1b00bb15, 0xe2c40fc69784a325},
};
// clang-format on

} // namespace fnv_vectors
