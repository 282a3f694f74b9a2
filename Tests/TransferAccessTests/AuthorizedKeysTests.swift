import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferAccess

@Suite struct AuthorizedKeysTests {
    private static let base64 = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    private static let plain = "ed25519 \(base64) laptop"

    @Test func everyOption() throws {
        let line = #"folder="in/a \"b\\",quota=20G,max-files=12,max-upload=1.5M,read-only,expires=2026-12-31 ed25519 "#
        let list = AuthorizedKeys(Array("\(line)\(Self.base64) Ann's phone \n".utf8))
        let entry = try #require(list.entries.first)
        #expect(list.faults.isEmpty && entry.name == "Ann's phone")
        #expect(entry.options.folder?.string == #"in/a "b\"#)
        #expect(entry.options.quota == 20 << 30 && entry.options.maximumUpload == 3 << 19)
        #expect(entry.options.maximumFiles == 12)
        #expect(entry.options.rights == .readOnly && entry.options.expires?.description == "2026-12-31T00:00:00Z")
        let again = try AuthorizedKey(line: entry.line)
        #expect(again == entry && list[entry.key] == entry)
    }

    /// A name or folder that a line cannot express is refused, and no other line results from it.
    @Test(arguments: OddNames.paths + [" \u{301}a", "a \u{301}", "\u{301},\u{301}"]) func whatIsAddedIsRead(
        _ name: String
    ) throws {
        var options = AccessOptions()
        options.folder = try? RelativePath(name)
        options.mailFrom = ["ann", "\u{301}bob", "e\u{301}"]
        let isShown = options.folder.map { (try? AccessOptions.check(folder: $0.string)) != nil } ?? true
        var list = AuthorizedKeys(Array("# first\n".utf8))
        let isName = (try? AccessLine.check(name)) != nil
        let entry = AuthorizedKey(Sample.key, name: name, options: options)
        do {
            try list.append(entry)
            #expect(isName && isShown)
        } catch {
            #expect(!isName || !isShown || !(name.utf8.count < 4096))
            #expect(list.content == Array("# first\n".utf8))
            return
        }
        let read = AuthorizedKeys(list.content)
        #expect(read.faults.isEmpty && read.entries == [entry])
        #expect(read.entries.first?.name.hasSameBytes(as: name) ?? false)
        #expect(read.entries.first?.options.folder == options.folder)
        #expect(
            read.entries.first?.options.mailFrom?.map { Array($0.utf8) } == options.mailFrom?.map { Array($0.utf8) })
    }

    /// If the line were added, the key would be reported as admitted, but a line of this length admits no client.
    @Test func aLineThatIsTooLongIsNotAdded() throws {
        var options = AccessOptions()
        options.mailFrom = (0..<1000).map { "somebody with a long name \($0)" }
        var list = AuthorizedKeys()
        #expect(throws: AccessFault.self) {
            try list.append(AuthorizedKey(Sample.key, name: "ann", options: options))
        }
        #expect(list.content.isEmpty && list.entries.isEmpty)
    }

    @Test func commentsAndTheRestStayAsTheyAre() throws {
        let text = "# who\r\n\n \t# indented\n\(Self.plain)\r\nnonsense\n\t \(Self.plain)"
        var list = AuthorizedKeys(Array(text.utf8))
        #expect(list.entries.count == 1 && list.faults.map(\.line) == [5, 6])
        #expect(list.content == Array("\(text)\n".utf8))
        try list.append(AuthorizedKey(Sample.key, name: "new"))
        #expect(list.content == Array("\(text)\n\(AuthorizedKey(Sample.key, name: "new").line)\n".utf8))
        #expect(list.remove { $0.name == "new" }.count == 1)
        #expect(list.content == Array("\(text)\n".utf8))
    }

    /// If the second line stayed, it would count as soon as the first is removed.
    @Test func removingTakesDuplicatesToo() {
        var list = AuthorizedKeys(Array("\(Self.plain)\nread-only \(Self.plain)\n# end\n".utf8))
        #expect(list.entries.map(\.options.rights) == [.readWrite] && list.faults.map(\.line) == [2])
        #expect(list.remove { $0.name == "laptop" }.count == 2)
        #expect(list.entries.isEmpty && list.faults.isEmpty && list.content == Array("# end\n".utf8))
    }

    @Test func aKeyIsAddedOnce() throws {
        var list = AuthorizedKeys()
        try list.append(AuthorizedKey(Sample.key, name: "one"))
        #expect(throws: AccessFault.self) { try list.append(AuthorizedKey(Sample.key, name: "other")) }
        #expect(list.entries.map(\.name) == ["one"])
    }

    @Test(arguments: [
        "ed25519", "ed25519 \(base64)", "ed25519 \(base64) ", "ed25519 AAAA name", "ssh-ed25519 \(base64) name",
        "ed25519 \(base64)= name", "bogus \(plain)", "quota \(plain)", "quota= \(plain)", "quota=x \(plain)",
        "quota=1,quota=2 \(plain)", "quota=-1 \(plain)", "quota=99999999999999999999 \(plain)", "read-only=1 \(plain)",
        "max-files=1K \(plain)", "max-files=-1 \(plain)", "max-files=99999999999999999999 \(plain)",
        "read-only,write-only \(plain)", "no-remove,read-only \(plain)", "no-remove=1 \(plain)",
        "folder=.. \(plain)", "folder=/etc \(plain)", "folder=a/../b \(plain)",
        "folder=.transfer \(plain)", "folder=\"a\tb\" \(plain)", "folder=a\u{202E}b \(plain)", "folder=\"a \(plain)",
        "folder=\"a\\n\" \(plain)", "folder=a\"b \(plain)",
        "expires=tomorrow \(plain)", "expires=2026-02-30 \(plain)", "expires=2026-12-31T00:00:00+01:00 \(plain)",
        "read-only, \(plain)", ",read-only \(plain)", "read-only  write-only \(plain)", "\(plain)\u{0}",
        "\(plain)\u{1B}[2J", "\(plain)\u{202E}", "READ-ONLY \(plain)", "\u{FEFF}\(plain)",
        "ed25519 \(base64) " + String(repeating: "n", count: 129),
        "folder=\"" + String(repeating: "a/", count: 9000) + "a\" \(plain)",
    ]) func aLineThatCannotBeReadAdmitsNobody(_ line: String) {
        let list = AuthorizedKeys(Array("\(line)\ned25519 \(Self.base64) other\n".utf8))
        #expect(list.faults.count == 1 && list.faults.first?.line == 1)
        #expect(list.entries.map(\.name) == ["other"])
    }

    @Test func bytesThatAreNotText() {
        let list = AuthorizedKeys(Array(Self.plain.utf8) + [0xFF, 0x0A, 0xC0, 0x80, 0x0A])
        #expect(list.entries.isEmpty && list.faults.map(\.line) == [1, 2])
    }

    /// No list traps, and every entry that was read can be written and read again.
    @Test(arguments: 0..<20) func damagedFiles(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let text = #"folder="a b",quota=1G,expires=2030-01-01 \#(Self.plain)"# + "\n# c\n\(Self.plain)\n"
        for _ in 0..<200 {
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let list = AuthorizedKeys(bytes)
            #expect(AuthorizedKeys(list.content).entries == list.entries, "seed \(seed)")
            for entry in list.entries { #expect(try AuthorizedKey(line: entry.line) == entry, "seed \(seed)") }
        }
    }

    @Test func aFullListTakesNoMore() throws {
        var list = AuthorizedKeys(
            Array(String(repeating: "#" + String(repeating: "x", count: 1022) + "\n", count: 1024).utf8))
        #expect(list.content.count == AuthorizedKeys.longest)
        #expect(throws: AccessFault.self) { try list.append(AuthorizedKey(Sample.key, name: "one")) }
    }
}
