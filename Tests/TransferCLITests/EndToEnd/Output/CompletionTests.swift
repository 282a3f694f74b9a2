import Glibc
import Glibc
import Testing
import TransferTestSupport

@testable import TransferCLI

/// The completions, evaluated by real shells.
@Suite(.ownThreads) struct CompletionTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
        for name in ["here", "here/folder", "config", "config/transfer"] { try makeDirectory(home.path(name)) }
        for name in ["photo.png", "photo 2.png"] { try writeFile(home.path("here/\(name)"), []) }
        try writeFile(
            home.path("config/transfer/config.toml"), "[remote.home]\naddress='h'\n[remote.nas]\naddress='n'\n".utf8)
    }

    @Test(.enabled(if: CompletionShell.bash.isInstalled, "bash is not installed")) func bash() throws {
        try check(.bash)
    }

    @Test(.enabled(if: CompletionShell.zsh.isInstalled, "zsh is not installed")) func zsh() throws {
        try check(.zsh)
    }

    @Test(.enabled(if: CompletionShell.fish.isInstalled, "fish is not installed")) func fish() throws {
        try check(.fish)
    }

    /// A user named `$(…)` is offered, and no part of the name is run, neither by the tab nor by the completed line.
    @Test(arguments: CompletionShell.all) func namesOfOthersAreNeverRun(_ shell: CompletionShell) throws {
        guard shell.isInstalled else { return }
        try makeDirectory(home.path("bin"))
        let names = ["$(touch ran)", "`touch ran`", "${IFS}", "a b", "it's", "\"q", "*", "plain", "x;touch ran"]
        let quoted = names.map {
            "'" + $0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        let program = try Spawner.executable()
        let script = """
            #!/bin/sh
            case "$1" in
            people) printf '%s\\n' \(quoted.joined(separator: " ")) ;;
            *) exec '\(program)' "$@" ;;
            esac

            """
        try writeFile(home.path("bin/transfer"), script.utf8)
        #expect(chmod(home.path("bin/transfer"), 0o755) == 0)
        let all = try shell.offers("transfer push --for ", in: home)
        #expect(all.count == names.count, "\(all)")
        #expect(try shell.offers("transfer push --for pl", in: home) == ["plain"])
        #expect(try shell.offers("transfer push --for bob,pl", in: home).map { $0.suffix(5) } == ["plain"])
        #expect(access(home.path("here/ran"), F_OK) != 0)
        guard shell.name == "bash" else { return }
        // Bash inserts the offered words into the line unchanged.
        var surroundings = Surroundings()
        (surroundings.executable, surroundings.directory) = ("/usr/bin/bash", home.path("here"))
        let line = try Finished(["--norc", "-c", "printf '%s\\n' " + all.joined(separator: " ")], surroundings)
        #expect(line.lines.map(String.init).sorted() == names.sorted())
        #expect(access(home.path("here/ran"), F_OK) != 0)
    }

    /// Completes paths on servers named by remotes and by addresses, and offers no words if no server answers.
    @Test(arguments: CompletionShell.all) func pathsOnServers(_ shell: CompletionShell) throws {
        guard shell.isInstalled else { return }
        let server = try RunningServer()
        for path in ["photos/a/x", "photos/two words", "phone", "notes"] {
            let push = try server.push(["--text", "x", "--name", "n"], to: "/\(path)")
            #expect(push.end == .exited(0), "\(push.errors)")
        }
        try writeFile(
            home.path("config/transfer/config.toml"),
            "[list]\njson = true\n[remote.home]\naddress='\(server.address)'\nplaintext=true\n[remote.nas]\naddress='n'\n"
                .utf8)
        // Bash replaces only the text behind the last colon.
        func offers(_ line: String) throws -> [String] {
            try shell.offers(line, in: home).map { shell.name == "bash" ? $0 : $0.replacing("home:", with: "") }
        }
        for command in ["list", "ls", "pull", "stat", "rm", "push photo.png"] {
            #expect(try offers("transfer \(command) home:/ph") == ["/phone/", "/photos/"], "\(shell.name): \(command)")
        }
        #expect(try offers("transfer cat home:/photos/a") == ["/photos/a/"])
        #expect(try offers("transfer cat home:ph") == ["phone/", "photos/"])
        let blank = try offers("transfer cat home:/photos/t")
        #expect(blank.count == 1 && blank[0].hasPrefix("/photos/two") && blank[0].hasSuffix("words/"), "\(blank)")
        #expect(try offers("transfer push --to home:/no") == ["/notes/"])
        #expect(try offers("transfer cat home:/none") == [])
        #expect(
            try shell.offers("transfer push photo.png ho", in: home).map { $0.replacing("\\", with: "") } == ["home:"])
        #expect(try shell.offers("transfer ls h", in: home) == ["home:"])
        #expect(try shell.offers("transfer cat nowhere:/", in: home) == [])
        // The configured server need not be named; a push still completes local files.
        let file = home.path("config/transfer/config.toml")
        try writeFile(file, Array("server = 'home:/photos'\n".utf8) + (try readFile(file)))
        #expect(try shell.offers("transfer cat a", in: home) == ["a/"])
        #expect(try shell.offers("transfer cat ", in: home).filter { $0 != "nas:" && $0 != "home:" }.count == 2)
        #expect(try shell.offers("transfer push a", in: home) == [])
        #expect(try shell.offers("transfer pull a/", in: home).last?.hasSuffix("a/x/") == true)
    }

    /// Lines, and all completions offered at their ends.
    private static let lines: [(line: String, offers: [String])] = [
        ("transfer psu", []), ("transfer pus", ["push"]), ("transfer ", CommandTree.words(after: "").map(\.text)),
        ("transfer access ", ["add", "list", "pair", "remove", "token"]),
        ("transfer access token ", ["create", "list", "revoke"]), ("transfer access token cr", ["create"]),
        ("transfer access token create --exp", ["--expires"]), ("transfer push --dig", ["--digest"]),
        ("transfer push --digest ", ["sha256", "xxh128"]), ("transfer push --quiet --digest s", ["sha256"]),
        ("transfer push --to ", ["home", "nas"]), ("transfer push --to h", ["home"]),
        ("transfer push photo.png --to n", ["nas"]), ("transfer remote remove ", ["home", "nas"]),
        ("transfer push --name ", []), ("transfer key ", ["new", "show"]),
        ("transfer completions ", ["bash", "fish", "zsh"]), ("transfer completions z", ["zsh"]),
        ("transfer help access to", ["token"]), ("transfer help pus", ["push"]), ("transfer help push ", []),
        ("transfer config show pus", ["push"]), ("transfer config show push --digest s", ["sha256"]),
    ]

    private func check(_ shell: CompletionShell) throws {
        for (line, offers) in Self.lines {
            #expect(try shell.offers(line, in: home) == offers.sorted(), "\(shell.name): '\(line)'")
        }
        // Paths, with the text that each shell adds around them.
        let photo = try shell.offers("transfer push --quiet ph", in: home)
        #expect(photo.count == 2 && photo.contains("photo.png"), "\(photo)")
        let folder = try shell.offers("transfer serve --dir f", in: home)
        #expect(folder.count == 1 && folder[0].hasPrefix("folder"), "\(folder)")
        #expect(try shell.offers("transfer serve --dir p", in: home) == [])
        let flags = try shell.offers("transfer push -", in: home)
        for flag in PushCommand.definition.flags { #expect(flags.contains(flag.spelling), "\(flag.spelling)") }
        // A value behind `=` is offered alone, or together with the text before it.
        for (line, value) in [
            ("transfer push --digest=s", "sha256"), ("transfer push --to=h", "home"),
            ("transfer serve --dir=f", "folder"),
            ("transfer serve --config=photo.", "photo.png"),
        ] {
            let offers = try shell.offers(line, in: home)
            #expect(offers.count == 1 && offers[0].contains(value), "\(line): \(offers)")
        }
    }

    @Test(.enabled(if: CompletionShell.bash.isInstalled, "bash is not installed")) func bashTakesSignsApart() throws {
        for (line, offers) in [
            ("transfer push --digest=", ["sha256", "xxh128"]), ("transfer push --to=", ["home", "nas"]),
            ("transfer push --to home: phot", ["photo 2.png", "photo.png"]), ("transfer push -- -", []),
            ("transfer trust list ", []),
        ] {
            #expect(try CompletionShell.bash.offers(line, in: home) == offers, "\(line)")
        }
        try writeFile(home.path("here/a:b"), [])
        #expect(try CompletionShell.bash.offers("transfer push a:", in: home) == ["b"])
    }

    /// The shell reads this script at every start or at the first tab.
    @Test(arguments: Shell.allCases) func everyFlagIsInTheScript(_ shell: Shell) {
        let script = shell.completions
        for command in Commands.all {
            for flag in command.flags {
                #expect(script.contains(shell == .fish ? "-l \(flag.name)" : flag.spelling))
            }
        }
        #expect(script.hasSuffix("\n") && !script.hasSuffix("\n\n"))
    }
}
