import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferCLI

@Suite(.ownThreads) struct StatusTests {
    private static func status(_ directory: String, _ flags: [String] = []) throws -> Finished {
        try Finished(["status", "--dir", directory] + flags)
    }

    private static func document(_ directory: String) throws -> JSONNode {
        let finished = try status(directory, ["--json"])
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(finished.lines.count == 1)
        return try JSONReader.read(Array(finished.output.utf8))
    }

    /// Requests the status repeatedly, at most 1,000 times.
    private static func document(_ directory: String, where condition: (JSONNode) -> Bool) throws -> JSONNode {
        for _ in 0..<1_000 {
            let found = try document(directory)
            if condition(found) { return found }
        }
        throw Program.Failure(description: "the status never became what it should")
    }

    @Test func ofAServerThatHasStoredSomething() throws {
        let server = try RunningServer(["--quota", "1G", "--min-free", "1K"])
        #expect(try server.push([photo]).end == .exited(0))
        let found = try Self.document(server.directory) { $0["connections"]?["count"] == .number("0") }
        #expect(found["schema"] == .string("transfer.status/2") && found["state"] == .string("serving"))
        #expect(try found["pid"] == .number("\(server.waitForWorker())"))
        #expect(found["listening"] == .array([.string(server.address)]))
        #expect(found["advertised"] == .null && found["anonymous"] == .bool(true))
        #expect(found["space"]?["quota"] == .number("\(1 << 30)") && found["space"]?["minimumFree"] == .number("1024"))
        let size = try readFile(photo).count
        #expect(found["space"]?["quotaUsed"] == .number("\(size)"))
        #expect(found["catalog"]?["stored"]?["count"] == .number("1"))
        let text = try Self.status(server.directory)
        #expect(text.end == .exited(0) && text.errors == "")
        #expect(text.output.contains("listening    \(server.address)\n"), "\(text.output)")
        #expect(text.output.contains("51.5 KB of the quota of 1.1 GB used"), "\(text.output)")
        #expect(text.output.contains("stored       1 upload, 51.5 KB\n"), "\(text.output)")
    }

    /// From the first byte to the goodbye: who sends which file, how much has arrived, and that the server is stopping.
    @Test func ofAnUploadInProgress() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "deep/in.bin"], Surroundings(input: .pipe))
        try push.write(randomBytes(9 << 20, seed: 11))
        let found = try Self.document(server.directory) { document in
            guard case .array(let uploads)? = document["uploads"]?["list"], let upload = uploads.first,
                case .number(let received)? = upload["received"]
            else { return false }
            return Int(received) ?? 0 >= 8 << 20
        }
        guard case .array(let uploads)? = found["uploads"]?["list"] else { return }
        #expect(uploads.first?["path"] == .string("deep/in.bin") && uploads.first?["size"] == .null)
        #expect(found["connections"]?["pending"] == .number("0"))
        let text = try Self.status(server.directory).output
        #expect(text.contains("\nRECEIVED  SIZE") && text.contains("  deep/in.bin\n"), "\(text)")
        #expect(text.contains("\nADDRESS") && text.contains("127.0.0.1:"), "\(text)")
        push.closeInput()
        #expect(try push.wait() == .exited(0))
    }

    @Test func ofAServerThatIsStopping() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "a"], Surroundings(input: .pipe))
        try push.write(randomBytes(3 << 20, seed: 12))
        _ = try Self.document(server.directory) { $0["connections"]?["count"] != .number("0") }
        server.program.signal(SIGSTOP)
        server.program.signal(SIGTERM)
        server.program.signal(SIGCONT)
        try server.program.waitForError("stopping;")
        push.closeInput()
        #expect(try server.program.wait() == .exited(0))
        #expect(try Self.status(server.directory).end == .exited(3))
        #expect(access("\(server.directory)/.transfer/control", F_OK) != 0, "it goes with the server")
    }

    /// A mark on disk, as a server leaves it that was killed during a sync.
    @Test func ofAStoreInDoubt() throws {
        let home = try TemporaryDirectory()
        let kernel = try String(decoding: readFile("/proc/sys/kernel/random/boot_id"), as: UTF8.self)
        try makeDirectory(home.path("stored"))
        try makeDirectory(home.path("stored/.transfer"))
        chmod(home.path("stored/.transfer"), 0o700)
        try writeFile(home.path("stored/.transfer/sync-running-\(kernel.prefix { $0 != "\n" })"), [])
        for durability in ["commit", "none"] {
            let server = try RunningServer(["--durability", durability], in: home)
            // On a file system in memory the server syncs nothing, so nothing is in doubt.
            let isInDoubt = server.program.errorText.contains("until it is started again, a file without ")
            #expect(durability == "commit" || !isInDoubt)
            #expect(try Self.document(server.directory)["syncFailed"] == .bool(isInDoubt))
            let text = try Self.status(server.directory).output
            #expect(
                text.contains("\ndoubt        a sync of the disk failed or was interrupted: ") == isInDoubt, "\(text)")
            server.program.signal(SIGTERM)
            _ = try server.program.wait()
        }
    }

    @Test func noServerIsThere() throws {
        let home = try TemporaryDirectory()
        for directory in [home.path, home.path("none")] {
            let finished = try Self.status(directory)
            #expect(finished.end == .exited(3) && finished.output == "")
            #expect(finished.errors == "transfer: No server is running with '\(directory)'.\n")
        }
    }

    @Test func aKilledServerLeavesNothingInTheWay() throws {
        var server = try RunningServer()
        server.program.signal(SIGKILL)
        _ = try server.program.wait()
        #expect(access("\(server.directory)/.transfer/control", F_OK) == 0)
        #expect(try Self.status(server.directory).end == .exited(3))
        server = try RunningServer(in: server.home, at: server.address)
        #expect(try Self.document(server.directory)["pid"] == .number("\(server.waitForWorker())"))
    }

    /// A path much longer than a Unix socket's path may be.
    @Test func inADeepDirectory() throws {
        let home = try TemporaryDirectory()
        var path = home.path
        for _ in 0..<4 {
            path += "/" + String(repeating: "d", count: 60)
            try makeDirectory(path)
        }
        let server = try Program(["serve", "--dir", path, "--listen", "127.0.0.1:0", "--plaintext"])
        _ = try RunningServer.address(server)
        #expect(try Self.document(path)["directory"] == .string(path))
    }

    private static let setpriv = "/usr/bin/setpriv"

    @Test(.enabled(if: geteuid() == 0 && access(setpriv, X_OK) == 0, "only root can become somebody else"))
    func othersAreToldNothing() throws {
        let server = try RunningServer()
        var surroundings = Surroundings()
        surroundings.executable = Self.setpriv
        let arguments = [
            "--reuid", "65534", "--regid", "65534", "--clear-groups", try Spawner.executable(), "status", "--dir",
            server.directory,
        ]
        // The directories, then the socket's permissions, and finally the server itself keep other users out.
        for (path, mode) in [("", 0o755), ("/.transfer", 0o755), ("/.transfer/control", 0o666)] as [(String, mode_t)] {
            if path.isEmpty { chmod(server.home.path, mode) }
            chmod(server.directory + path, mode)
            let finished = try Finished(arguments, surroundings)
            // If other users cannot reach the program itself, the test shows nothing.
            guard finished.end != .exited(126), finished.end != .exited(127), finished.end != .exited(1) else { return }
            #expect(finished.end == .exited(4) && finished.output == "", "\(path): \(finished.errors)")
            #expect(finished.errors.contains("answers only its own user and root"))
        }
    }

    /// Many clients send requests and read no answers; pushes are not affected.
    @Test func aCrowdThatAsks() throws {
        let server = try RunningServer()
        var crowd: [Int32] = []
        defer { for number in crowd { close(number) } }
        for _ in 0..<64 {
            let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) {
                $0.copyBytes(from: "\(server.directory)/.transfer/control".utf8)
            }
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            crowd.append(number)
        }
        #expect(try server.push([photo]).end == .exited(0))
        #expect(try Self.document(server.directory)["catalog"]?["stored"]?["count"] != nil)
    }
}
