import TransferModel

@testable import TransferProtocol

/// The conversations of the examples in `docs/reference/protocol.md`, in their order.
enum SpecificationExamples {
    private static let id = UploadID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)
    private static let otherID = UploadID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)
    private static let begin = Begin(
        id: id, path: "notes/hello.txt", size: 5, kind: .text,
        modified: .init(seconds: 1_767_225_600, nanoseconds: 500_000_000), permissions: 0o644)
    private static let digest = Digest(
        .xxh128,
        [0xB5, 0xE9, 0xC1, 0xAD, 0x07, 0x1B, 0x3E, 0x7F, 0xC7, 0x79, 0xCF, 0xAA, 0x5E, 0x52, 0x38, 0x18])
    private static let version = FileVersion(high: 0x0A0B_0C0D_0E0F_1011, low: 0x1213_1415_1617_1819)
    private static let entry = ListedEntry(
        .file, name: "hello.txt", size: 5, modified: .init(seconds: 1_767_225_600, nanoseconds: 500_000_000),
        permissions: 0o644, version: version, kind: .text, digest: digest, stored: 1_767_225_600_500)

    /// The example in `docs/reference/receipts.md`, which other tests verify.
    private static let receipt = bytes(
        "01000647484620400100112233445566778899aabbccddeeff01000100000000000000050000019b76daa9f4d75a9801"
            + "82b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a9845c0e7b8fbbbc3061692fb126f5c985b92d291"
            + "5c8126f9fa811c6b8a6f2fe6fa9fa640d0d7b8a1bda8824804e6b916b4a73b69aaacbb624ed60682624a020000000001"
            + "0000000301b5e9c1ad071b3e7fc779cfaa5e523818000f6e6f7465732f68656c6c6f2e747874000f3139322e302e322e"
            + "373a3530303030027261f8d0902049d45ee0285270b3cd1fdc6fa69ba9a0582e417968b146bbc367490a3fb0cb03a981"
            + "a16686a8c1abeb582451f59b902d3ab64788c3eb5fbaeb75")

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        stride(from: 0, to: hexadecimal.utf8.count, by: 2).map { offset in
            UInt8(hexadecimal.dropFirst(offset).prefix(2), radix: 16) ?? 0
        }
    }

    static var all: [(caption: String, conversation: Conversation)] {
        [
            ("`hello` from `example/1.0`:", Conversation { $0.append(.hello(Hello(agent: "example/1.0"))) }),
            (
                "`welcome` with the baseline limits from `transfer/1.0`:",
                Conversation { $0.append(.welcome(Welcome(agent: "transfer/1.0"))) }
            ),
            (
                "`begin`, `data` and `end` of the text `hello` as `notes/hello.txt`, 5 bytes of content in one write:",
                Conversation {
                    $0.append(.begin(begin))
                    $0.append(data: Array("hello".utf8))
                    $0.append(.end(End(size: 5, digest: digest)))
                }
            ),
            (
                "`result` that acknowledges it as `committed`:",
                result(UploadResult(id: id, code: .committed, isDurable: true, size: 5, digest: digest))
            ),
            ("`goodbye`:", Conversation { $0.append(.goodbye(Goodbye(.committed))) }),
            (
                "`receipts` behind three results, of which the second is the one that acknowledges `notes/hello.txt`:",
                Conversation {
                    $0.append(
                        .receipts(
                            SignedBatch(
                                number: 1_767_225_600_000_000, time: 1_767_225_600_500, count: 3,
                                signature: Array(receipt[76..<140]), sender: "192.0.2.7:50000")))
                }
            ),
            (
                "`result` with the receipt of receipts.md, in answer to the same upload sent again:",
                result(
                    UploadResult(
                        id: id, code: .committed, isDurable: true, size: 5, digest: digest, receipt: receipt))
            ),
            (
                "`data`, a hole of 1,048,576 bytes:",
                Conversation { $0.append(data: [0, 0x10, 0, 0], .hole) }
            ),
            (
                "`data` header alone, with an extended length of 65,536:",
                Conversation { $0.append(headerOf: 65_536) }
            ),
            (
                "`resume`, a file of 8 GiB:",
                Conversation { $0.append(.resume(Begin(id: id, path: "xy", size: 8 << 30, scope: .multipart))) }
            ),
            (
                "`result` and `unknown`, which answer it: the server has the first and not the second:",
                Conversation {
                    $0.append(
                        .result(
                            UploadResult(
                                id: id, code: .alreadyStored, isDurable: true, size: 5, digest: digest,
                                storedPath: "notes/hello.txt", kind: .text)))
                    $0.append(.unknown([otherID]))
                }
            ),
            (
                "`list` of the folder `notes`, with details:",
                Conversation { $0.append(.list(ListRequest(id: 1, path: "notes", wantsDetails: true))) }
            ),
            (
                "`entries` and `outcome`, which answer it:",
                Conversation {
                    $0.append(.entries(Entries(id: 1, [entry])))
                    $0.append(.outcome(Outcome(id: 1, code: .completed, count: 1)))
                }
            ),
            (
                "`fetch` of the file, from its beginning:",
                Conversation { $0.append(.fetch(FetchRequest(id: 2, path: "notes/hello.txt"))) }
            ),
            (
                "`file`, `data` and `end`, which answer it:",
                Conversation {
                    $0.append(
                        .file(
                            FetchedFile(
                                id: 2, permissions: 0o644, size: 5, modified: entry.modified, version: version)))
                    $0.append(data: Array("hello".utf8))
                    $0.append(.end(End(size: 5, digest: digest)))
                }
            ),
        ]
    }

    private static func result(_ result: UploadResult) -> Conversation {
        Conversation { $0.append(.result(result)) }
    }
}
