import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

@Suite struct DeliveryReceiptFileTests {
    private let here: TemporaryDirectory
    private var path: String { here.path("receipts") }

    init() throws {
        here = try TemporaryDirectory()
    }

    private var text: String { (try? readFile(path)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    @Test func eachIsThereOnce() throws {
        let file = DeliveryReceiptFile(path)
        #expect(try file.append([Array("a".utf8), Array("b".utf8), Array("a".utf8)]) == 2)
        #expect(try file.append([Array("b".utf8), Array("c".utf8)]) == 1)
        #expect(try file.append([Array("c".utf8)]) == 0)
        #expect(text == "a\nb\nc\n")
    }

    /// An earlier program was killed in the middle of a line.
    @Test func halfALineIsEnded() throws {
        try writeFile(path, "a\nha".utf8)
        #expect(try DeliveryReceiptFile(path).append([Array("a".utf8), Array("half".utf8)]) == 1)
        #expect(text == "a\nha\nhalf\n")
    }

    @Test func longFilesAreReadInPieces() throws {
        let lines = (0..<5000).map { Array("{\"line\":\($0),\"text\":\"\(String(repeating: "x", count: 200))\"}".utf8) }
        #expect(try DeliveryReceiptFile(path).append(lines) == 5000)
        #expect(try DeliveryReceiptFile(path).append(lines) == 0)
    }

    @Test func aFileThatCannotBeOpenedIsSaidToBeOne() {
        #expect(throws: SystemError.self) { try DeliveryReceiptFile(here.path("none/r")).append([[1]]) }
    }
}
