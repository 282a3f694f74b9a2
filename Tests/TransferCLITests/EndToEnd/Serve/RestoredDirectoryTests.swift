import Glibc
import Testing
import TransferTestSupport

/// A server's directory that was copied, as by a backup or a move to another disk, and that serves again.
@Suite(.ownThreads) struct RestoredDirectoryTests {
    /// How a directory gets to another file system.
    enum Way: String, CaseIterable, Sendable {
        case cp, rsync, tar

        /// A shell script that takes the two directories as arguments.
        var script: String {
            switch self {
            case .cp: "cp -a \"$0\" \"$1\""
            case .rsync: "rsync -aHAX \"$0/\" \"$1/\""
            case .tar: "mkdir \"$1\" && tar -C \"$0\" --xattrs -cf - . | tar -C \"$1\" --xattrs -xpf -"
            }
        }
    }

    private static func wasSent(_ upload: JSONObject) -> Bool { upload["attempts"] != "0" }

    private static let hasRsync = access("/usr/bin/rsync", X_OK) == 0

    private let sources: TemporaryDirectory
    private let names = (100..<130).map { "f\($0)" }

    /// Each file is larger than what a client sends before its first question (`LookupGovernor.firstFlight`).
    init() throws {
        sources = try TemporaryDirectory()
        for (number, name) in names.enumerated() {
            try writeFile(sources.path(name), randomBytes(15_000, seed: UInt64(number)))
        }
    }

    /// A server that has stored all files for a client with a quota, which may not replace files of others. The files
    /// cost 580,800 bytes including names and rows (`QuotaPrice`).
    private func stored() throws -> SecureServer {
        let server = try SecureServer(user: "owner")
        let rights = ["--quota", "597K", "--no-remove"]
        let token = try server.access(["token", "create", "--name", "camera"] + rights).output
        try writeFile(server.home.path("token"), token.utf8)
        #expect(chmod(server.home.path("token"), 0o600) == 0)
        let pushed = try push(names, server, from: server.home)
        #expect(pushed.end == .exited(0), "\(pushed.errors)")
        return server
    }

    private func push(_ names: [String], _ server: SecureServer, from home: TemporaryDirectory) throws -> Finished {
        let flags = ["--token-file", home.path("token"), "--server-key", try server.fingerprint]
        return try Finished(
            ["push", "--json", "--on-conflict", "overwrite", "--to", server.address] + flags + names.map(sources.path),
            server.surroundings())
    }

    private func shell(_ script: String, _ words: String...) throws {
        var surroundings = Surroundings()
        surroundings.executable = "/bin/bash"
        let run = try Finished(["-c", "set -o pipefail; " + script] + words, surroundings)
        #expect(run.end == .exited(0), "\(run.errors)")
    }

    /// No content is sent again, receipts verify, stored files count against the quota, and the client still owns its
    /// files.
    private func check(_ way: Way) throws {
        let original = try stored()
        try original.end()
        let home = try TemporaryDirectory(prefersMemory: true)
        try shell(way.script, original.directory, home.path("restored"))
        let restored = try SecureServer(in: home, stored: "restored", user: "owner")
        try checkKnown(restored, from: original.home)
        try restored.end()
        let verified = try Finished(["verify", "--dir", restored.directory])
        #expect(verified.end == .exited(0), "\(verified.output)")
    }

    private func checkKnown(_ server: SecureServer, from home: TemporaryDirectory) throws {
        let again = try push(names, server, from: home)
        let results = try again.objects()
        #expect(again.end == .exited(0) && results.count == names.count, "\(again.errors)")
        #expect(results.allSatisfy { $0["result"] == "alreadyStored" }, "\(again.output)")
        #expect(!results.contains(where: Self.wasSent), "\(again.output)")
        try writeFile(sources.path("more"), randomBytes(45_000, seed: 99))
        #expect(try push(["more"], server, from: home).object()["result"] == "quotaExceeded")
        try writeFile(sources.path(names[0]), randomBytes(9_000, seed: 98))
        let own = try push([names[0]], server, from: home).object()
        #expect(own["result"] == "committed" && own["replaced"] == "true")
    }

    @Test(arguments: [Way.cp, .tar]) func copied(_ way: Way) throws { try check(way) }

    @Test(.enabled(if: hasRsync, "rsync is not installed")) func copiedByRsync() throws { try check(.rsync) }

    /// While no server runs, `verify --repair-catalog` makes the files known as a server does, and records no file
    /// under another name.
    @Test func repaired() throws {
        let original = try stored()
        try original.end()
        let home = try TemporaryDirectory(prefersMemory: true)
        try shell(Way.cp.script, original.directory, home.path("restored"))
        let repair = try Finished(["verify", "--dir", home.path("restored"), "--repair-catalog"])
        #expect(repair.end == .exited(0) && repair.output.contains("30 files known again"), "\(repair.output)")
        #expect(repair.output.contains("0 added, 0 brought up to date, 0 removed"), "\(repair.output)")
        let restored = try SecureServer(in: home, stored: "restored", user: "owner")
        try checkKnown(restored, from: original.home)
    }

    /// The database is from yesterday and the files are from today, or the reverse. Files in both are known; files
    /// missing in one of them are stored again.
    @Test(arguments: [true, false]) func ofTwoDays(isDatabaseOld: Bool) throws {
        let original = try stored()
        try original.end()
        let yesterday = original.home.path("yesterday")
        try shell(Way.cp.script, original.directory, yesterday)
        let today = try SecureServer(in: original.home, user: "owner")
        try writeFile(sources.path(names[0]), randomBytes(9_000, seed: 98))
        try writeFile(sources.path("new"), randomBytes(5_000, seed: 97))
        #expect(try push([names[0], "new"], today, from: original.home).end == .exited(0))
        try today.end()
        let home = try TemporaryDirectory(prefersMemory: true)
        let (files, database) = isDatabaseOld ? (today.directory, yesterday) : (yesterday, today.directory)
        try shell(Way.cp.script, files, home.path("restored"))
        try shell(
            "rm -f \"$1\"*; cp -a \"$0\"* \"${1%/*}\"", "\(database)/.transfer/catalog.sqlite",
            "\(home.path("restored"))/.transfer/catalog.sqlite")
        let restored = try SecureServer(in: home, stored: "restored", user: "owner")
        let again = try push(names + ["new"], restored, from: original.home)
        // Today's database has yesterday's file in the trash, while the files still have it in place. The client may
        // not replace it, and nothing is lost.
        let refused = isDatabaseOld ? [] : [names[0]]
        #expect(again.end == .exited(isDatabaseOld ? 0 : 1), "\(again.output)\(again.errors)")
        #expect(try again.objects().count(where: Self.wasSent) == 2, "\(again.output)")
        for name in names + ["new"] where !refused.contains(name) {
            #expect(try readFile(sources.path(name)) == readFile(home.path("restored/\(name)")), "\(name)")
        }
        try restored.end()
        let verified = try Finished(["verify", "--dir", restored.directory])
        #expect(verified.end == .exited(0), "\(verified.output)")
    }

    /// An older program leaves the catalog of a newer one in place, and says that a newer program wrote it.
    @Test func aNewerCatalogIsRefused() throws {
        let server = try RunningServer()
        let pushed = try server.push([sources.path(names[0])])
        #expect(pushed.end == .exited(0), "\(pushed.errors)")
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
        let catalog = server.directory + "/.transfer/catalog.sqlite"
        let bytes = try readFile(catalog)
        // The file's user_version, most significant byte first.
        try writeFile(catalog, bytes[..<60] + [0, 0, 3, 231] + bytes[64...])
        let before = files(below: server.directory)
        let refused = try Finished(["serve", "--dir", server.directory, "--listen", "127.0.0.1:0", "--plaintext"])
        #expect(refused.end == .exited(5), "\(refused.errors)")
        #expect(refused.errors.contains("a newer one wrote it. Start that one"), "\(refused.errors)")
        #expect(files(below: server.directory).filter { !before.contains($0) }.allSatisfy { !$0.contains("damaged") })
        try writeFile(catalog, bytes)
        let next = try RunningServer(in: server.home)
        #expect(try next.push([sources.path(names[0]), "--json"]).object()["result"] == "alreadyStored")
    }
}
