import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct AccessCommandTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        mkdir(folder.path("in"), 0o755)
    }

    @Test func aKeyIsMadeAddedListedAndRemoved() throws {
        let key = try run(["key"])
        #expect(key.end == .exited(0) && key.output.hasPrefix("ed25519 ") && key.errors.contains("SHA256:"))
        #expect(try run(["key", "show"]).output == key.output)
        let line = String(key.output.dropLast())
        #expect(try run(["access", "add", "--folder", "a/b", "--expires", "30d", line]).end == .exited(0))
        #expect(try run(["access", "add", line]).end == .exited(1))
        let list = try run(["access", "list"])
        #expect(list.end == .exited(0) && list.output.contains("folder=\"a/b\",expires="))
        let fingerprint = try #require(list.output.split(separator: " ").first { $0.hasPrefix("SHA256:") })
        #expect(try run(["access", "remove", String(fingerprint)]).end == .exited(0))
        #expect(try run(["access", "list"]).output == "")
        #expect(try run(["access", "remove", "nobody"]).end == .exited(1))
        #expect(try run(["key", "new"]).output != key.output)
    }

    @Test func aTokenIsShownOnce() throws {
        let token = try run(["access", "token", "create", "--name", "camera", "--write-only"])
        #expect(token.end == .exited(0) && token.output.hasPrefix("transfer_"))
        let parts = token.output.dropLast().split(separator: "_")
        #expect(parts.count == 3 && !token.errors.contains(parts[2]))
        let list = try run(["access", "token", "list"])
        #expect(list.output.contains("camera  write-only") && !list.output.contains(parts[2]))
        #expect(try run(["access", "token", "revoke", "camera"]).end == .exited(0))
        #expect(try run(["access", "token", "list"]).output == "")
    }

    /// An empty directory may become a server's directory; a directory with other files in it was given by mistake.
    @Test func nothingIsMadeInAnyDirectory() throws {
        let pair = try run(["access", "pair"])
        #expect(pair.end == .exited(1) && pair.errors.contains("No server has used "), "\(pair.errors)")
        #expect(names(in: folder.path("in")).isEmpty)
        try writeFile(folder.path("in/letter"), [1])
        let key = String(try run(["key"]).output.dropLast())
        let lists = [["list"], ["token", "list"], ["remove", "a"], ["token", "revoke", "a"]]
        for arguments in [["pair"], ["token", "create", "--name", "a"], ["add", key]] + lists {
            let refused = try run(["access"] + arguments)
            #expect(refused.end == .exited(1) && refused.errors.contains("No server has used "), "\(refused.errors)")
        }
        #expect(names(in: folder.path("in")) == ["letter"])
    }

    @Test(
        arguments: [
            ([], "push, list and fetch, but not remove", "no-remove"), (["--allow-remove"], "fetch and remove", nil),
            (["--read-only"], "list and fetch, but not push", "read-only"),
            (["--write-only", "--folder", "a"], "anything, below the folder 'a'", "folder=\"a\",write-only"),
        ] as [([String], String, String?)])
    func thePairingLineSaysWhatItAllows(_ flags: [String], _ sentence: String, _ option: String?) throws {
        mkdir(folder.path("in/.transfer"), 0o700)
        let pair = try run(["access", "pair", "--advertise", "192.0.2.1:99"] + flags)
        #expect(pair.end == .exited(0) && pair.errors.contains(sentence), "\(pair.errors)")
        let list = try run(["access", "token", "list"]).output
        let rights = ["no-remove", "read-only", "write-only"].filter { list.contains($0) }
        #expect(rights.count == (option == nil ? 0 : 1) && option.map { list.contains($0) } ?? true, "\(list)")
    }

    @Test func aPairingLineHasALink() throws {
        mkdir(folder.path("in/.transfer"), 0o700)
        let pair = try run(["access", "pair", "--advertise", "192.0.2.1:99"])
        #expect(pair.output.hasPrefix("transfer push photo.png --to 'transfer://192.0.2.1:99#code=pair_"))
        #expect(pair.output.hasSuffix("'\n") && pair.output.contains(",key="))
        #expect(pair.errors.contains("No server is running"), "\(pair.errors)")
        #expect(try run(["access", "token", "list"]).output.contains("pairing code"))
    }

    @Test(arguments: [
        ["key", "old"], ["access", "add"], ["access", "add", "nonsense"], ["access", "remove"],
        ["access", "token", "create"], ["access", "token", "create", "--name", "a\u{1B}b"],
        ["access", "token", "create", "--name", "a", "--read-only", "--write-only"],
        ["access", "token", "create", "--name", "a", "--folder", "../b"],
        ["access", "token", "create", "--name", "a", "--expires", "2020-01-01"],
        ["access", "pair", "--advertise", "a/b"], ["access", "pair", "--allow-remove", "--read-only"],
        ["access", "token", "create", "--name", "a", "--no-remove", "--write-only"],
        ["access", "token"],
    ]) func whatCannotBe(_ arguments: [String]) throws {
        #expect(try run(arguments).end == .exited(2))
        #expect(names(in: folder.path("in")).isEmpty)
    }

    private func run(_ arguments: [String]) throws -> (end: Program.End, output: String, errors: String) {
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = folder.path("configuration")
        let isAbout = arguments.first == "access" && arguments != ["access", "token"]
        let program = try Program(arguments + (isAbout ? ["--dir", folder.path("in")] : []), surroundings)
        return (try program.wait(), program.outputText, program.errorText)
    }
}
