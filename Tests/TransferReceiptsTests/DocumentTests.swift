import Glibc
import Testing
import TransferKeys
import TransferModel

@testable import TransferReceipts

/// What the documents show is what the code makes.
@Suite struct DocumentTests {
    @Test func theExampleIsAGoodReceipt() throws {
        let document = try Self.read("docs/RECEIPTS.md")
        // Broken into lines for reading, each after the first one indented by a space.
        let block = try #require(
            document.split(separator: "```json\n").dropFirst().first?.split(separator: "\n```").first)
        let line = block.split(separator: "\n").map { $0.hasPrefix(" ") ? $0.dropFirst() : $0 }.joined()
        let signed = try SignedReceipt(json: Array(line.utf8))
        try ReceiptVerifier().verify(signed)
        #expect(signed.receipt.server == Sample.key)
        let hexadecimal = try Self.read("docs/PROTOCOL.md").split(separator: "\n")
            .map { $0.prefix { $0 != "#" }.filter { $0 != " " } }.joined()
        #expect(hexadecimal.contains(String(hexadecimal: signed.encoded)))
        #expect(document.contains(String(Sample.key.fingerprint.prefix(15))))
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
