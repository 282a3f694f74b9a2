import Glibc
import Testing
import TransferKeys
import TransferModel

@testable import TransferReceipts

/// The code makes what the documents show.
@Suite struct DocumentTests {
    @Test func theExampleIsAGoodReceipt() throws {
        let document = try Self.read("docs/reference/receipts.md")
        let line = try #require(Self.example(0, of: document))
        let signed = try SignedReceipt(json: Array(line.utf8))
        try ReceiptVerifier().verify(signed)
        #expect(signed.receipt.server == Sample.key)
        let hexadecimal = try Self.read("docs/reference/protocol.md").split(separator: "\n")
            .map { $0.prefix { $0 != "#" }.filter { $0 != " " } }.joined()
        #expect(hexadecimal.contains(String(hexadecimal: signed.encoded)))
        #expect(document.contains(String(Sample.key.fingerprint.prefix(15))))
    }

    @Test func theExampleOfADeliveryIsWhatIsMade() throws {
        let document = try Self.read("docs/reference/receipts.md")
        let line = try #require(Self.example(1, of: document))
        var receipts = try Sample.deliveries(3)
        let id = try #require(UploadID(hexadecimal: "00112233445566778899aabbccddeeff"))
        let digest = try #require([UInt8](hexadecimal: "b5e9c1ad071b3e7fc779cfaa5e523818"))
        receipts[1] = try Sample.delivery(
            id: id, name: "hello.txt", kind: .text, size: 5, digest: Digest(.xxh128, digest))
        let lines = DeliveryBatch.lines(receipts, signature: DeliveryBatch.sign(receipts, with: Sample.recipient))
        #expect(lines?[1] == Array(line.utf8))
        #expect(document.contains(String(Sample.recipient.key.fingerprint.prefix(15))))
    }

    /// The example is broken into lines for reading; each line after the first is indented by a space.
    private static func example(_ number: Int, of document: String) -> String? {
        let blocks = document.split(separator: "```json\n").dropFirst().compactMap {
            $0.split(separator: "\n```").first
        }
        guard number < blocks.count else { return nil }
        return blocks[number].split(separator: "\n").map { $0.hasPrefix(" ") ? $0.dropFirst() : $0 }.joined()
    }

    private struct NotFound: Error {
        let path: String
    }

    private static func read(_ path: String, of source: String = #filePath) throws -> String {
        let root = source.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let file = fopen("/\(root)/\(path)", "r") else { throw NotFound(path: path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
