import Testing
import TransferTestSupport

@testable import TransferCLI

@Suite struct TOMLEditingTests {
    static let rest = """
        # What this machine does.
        [push]
        lanes = 4   # as many as it has cores


        # An old one.
        [remote.old]
        address = "old"
        # of no use
        plaintext = true

        # Left alone.
        [serve]
        dir = 'in'

        """

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: ["", "[push]\n", rest, "# only\n\n\n"]) func addingAndRemovingChangesNothing(_ text: String) throws
    {
        let path = ["remote", "home"]
        let added = TOMLEditing.adding(
            path, [("address", .string("h")), ("plaintext", .boolean(true))], to: Array(text.utf8))
        #expect(Self.text(added).hasPrefix(text))
        let table = try #require(try TOMLDocument(added)[path])
        #expect(table.entries.map(\.value) == [.string("h"), .boolean(true)])
        #expect(Self.text(TOMLEditing.removing(table, from: added)) == text)
    }

    @Test(arguments: OddNames.paths) func everyTextComesBack(_ text: String) throws {
        let added = TOMLEditing.adding(["a"], [("one", .string(text)), ("several", .strings([text, "b"]))], to: [])
        let entries = try #require(try TOMLDocument(added)[["a"]]).entries
        #expect(entries.map(\.value) == [.string(text), .strings([text, "b"])])
        guard case .string(let again)? = entries.first?.value else { return }
        #expect(again.utf8.elementsEqual(text.utf8))
    }

    @Test func theLastLineNeedsNoEnd() {
        let added = TOMLEditing.adding(["a"], [], to: Array("[b]".utf8))
        #expect(Self.text(added) == "[b]\n\n[a]\n")
    }

    @Test func linesKeepTheirEnds() throws {
        let bytes = Array("[a]\r\nx = 1\r\n\r\n[b]\r\ny = 2".utf8)
        let document = try TOMLDocument(bytes)
        let tables = [try #require(document[["a"]]), try #require(document[["b"]])]
        #expect(
            tables.map { Self.text(TOMLEditing.removing($0, from: bytes)) } == [
                "[b]\r\ny = 2", "[a]\r\nx = 1\r\n",
            ])
    }

    @Test func removesNothingElse() throws {
        let bytes = Array(Self.rest.utf8)
        let table = try #require(try TOMLDocument(bytes)[["remote", "old"]])
        #expect(
            Self.text(TOMLEditing.removing(table, from: bytes)) == """
                # What this machine does.
                [push]
                lanes = 4   # as many as it has cores


                # An old one.

                # Left alone.
                [serve]
                dir = 'in'

                """)
    }
}
