import CLinux
import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

/// Signals end the worker, and its supervisor stays.
@Suite(.ownThreads) struct SupervisionTests {
    private static let folder = "/.transfer/crashes"

    @Test(arguments: [SIGSEGV, SIGKILL]) func anotherOneGoesOnInItsPlace(_ signal: Int32) throws {
        let server = try RunningServer()
        #expect(try server.push([photo]).end == .exited(0))
        let first = try server.waitForWorker()
        kill(first, signal)
        // No client is refused: the connection waits in the queue of a socket that was never closed.
        #expect(try server.push(["--text", "a"]).end == .exited(0))
        #expect(try server.waitForWorker(after: first) != first)
        #expect(server.visibleFiles == ["demo.png", "text.txt"])
        let name = signal == SIGKILL ? "SIGKILL" : "SIGSEGV"
        let log = server.program.errorText
        #expect(log.contains(" error the server process was ended by \(name), "), "\(log)")
        #expect(log.split(separator: " listening on ").count == 2, "said once: \(log)")
        try expectReport(server, name, from: first)
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
    }

    private func expectReport(_ server: RunningServer, _ signal: String, from process: pid_t) throws {
        let names = files(below: server.directory + Self.folder)
        #expect(names.count == 1)
        let path = "\(server.directory)\(Self.folder)/\(try #require(names.first))"
        let report = try String(decoding: readFile(path), as: UTF8.self)
        #expect(report.hasPrefix("transfer/\(transferVersion) was ended by \(signal) at 20"))
        #expect(report.contains("process \(process), after "))
        // A process cannot catch SIGKILL.
        #expect(report.contains("backtrace:\n  0x") == (signal == "SIGSEGV"), "\(report)")
        #expect(report.contains("/transfer\n") == (signal == "SIGSEGV"), "where the program's code was")
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let text = try Finished(["status", "--dir", server.directory]).output
        let line = "crashes      started again once after a signal; 1 report, the latest of \(signal) on 20"
        #expect(text.contains(line), "\(text)")
        let json = try JSONReader.read(Array(Finished(["status", "--dir", server.directory, "--json"]).output.utf8))
        #expect(json["restarts"] == .number("1") && json["crashes"]?["count"] == .number("1"))
        #expect(json["crashes"]?["latest"]?["signal"] == .string(signal))
        #expect(json["crashes"]?["latest"]?["report"] == .string(path))
    }

    /// Another program, such as an out-of-memory daemon, asks the worker to end, and it ends in order. The service
    /// itself must go on.
    @Test func anotherOneFollowsOneThatWasAskedToEnd() throws {
        let server = try RunningServer()
        #expect(try server.push([photo]).end == .exited(0))
        let first = try server.waitForWorker()
        kill(first, SIGTERM)
        #expect(try server.waitForWorker(after: first) != first)
        #expect(try server.push(["--text", "a"]).end == .exited(0))
        #expect(server.visibleFiles == ["demo.png", "text.txt"])
        let log = server.program.errorText
        #expect(log.contains(" error the server process was ended by SIGTERM, "), "\(log)")
        // The log names the report.
        let names = files(below: server.directory + Self.folder)
        #expect(names.count == 1 && names.allSatisfy { $0.hasSuffix("_SIGTERM_\(first).txt") }, "\(names)")
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
    }

    private static let prlimit = "/usr/bin/prlimit"

    /// While no worker runs, the supervisor has no process to pass the signal on to.
    @Test(.enabled(if: access(prlimit, X_OK) == 0, "needs \(prlimit)")) func itEndsAlsoWhileNobodyServes() throws {
        let server = try RunningServer()
        let worker = try server.waitForWorker()
        // Without a free descriptor the supervisor cannot start a worker, however often it tries.
        var surroundings = Surroundings()
        surroundings.executable = Self.prlimit
        let limit = try Finished(["--pid", "\(server.program.process)", "--nofile=2:2"], surroundings)
        #expect(limit.end == .exited(0), "\(limit.errors)")
        kill(worker, SIGKILL)
        try server.program.waitForNoWorker()
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        #expect(server.worker == nil)
    }

    /// Kills ten workers during one push, each after some content has arrived.
    @Test func aPushOutlivesTenOfThem() throws {
        let source = try TemporaryDirectory()
        let content = randomBytes(60 << 20, seed: 10)
        try writeFile(source.path("big"), content)
        for number in 0..<200 { try writeFile(source.path("small-\(number)"), Array("\(number)".utf8)) }
        let server = try RunningServer()
        let push = try server.startPush([source.path, "--bandwidth", "4M", "--json"])
        // The thread sanitizer does not survive that a crashing process starts the process that writes its backtrace.
        let signals = AttackScale.isLight ? [SIGKILL] : [SIGKILL, SIGILL, SIGABRT]
        var last: pid_t?
        for number in 0..<10 {
            let worker = try server.waitForWorker(after: last)
            try waitUntilItHasReceived(worker, 512 << 10)
            kill(worker, signals[number % signals.count])
            last = worker
        }
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(try finished.objects().count == 201)
        let folder = try #require(source.path.split(separator: "/").last)
        #expect(try server.stored("\(folder)/big") == content)
        #expect(server.visibleFiles.count == 201, "each of them once")
        #expect(files(below: server.directory + Self.folder).count == 10)
    }

    /// Counts the bytes that the worker has written, because sizes of files do not show them: all may be in one file
    /// that exists already.
    private func waitUntilItHasReceived(_ worker: pid_t, _ bytes: Int) throws {
        let end = time(nil) + Program.patience
        while time(nil) < end {
            let counts = try String(decoding: readFile("/proc/\(worker)/io"), as: UTF8.self)
            let written = counts.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
            if let written = written.flatMap({ Int($0.dropFirst(7)) }), written >= bytes { return }
            sched_yield()
        }
        throw Program.Failure(description: "the process that serves receives nothing")
    }

    /// When the supervisor is killed, its worker ends, too. The port and the lock are free then, as without
    /// supervision.
    @Test func bothEndTogether() throws {
        let server = try RunningServer()
        let worker = try server.waitForWorker()
        let again = try server.restarted()
        // If init has not reaped the orphan yet, only its process ID is left.
        #expect((try? readFile("/proc/\(worker)/cmdline"))?.isEmpty ?? true)
        #expect(try again.push([photo]).end == .exited(0))
        #expect(files(below: server.directory + Self.folder).isEmpty)
    }

    /// The supervisor is killed before its worker has asked for a signal at the supervisor's death. A worker that
    /// continued would be a second server, on another port, that no process ever ends.
    @Test func aWorkerThatBeginsWithoutItsSupervisorEnds() throws {
        let report = try CrashHandler.makeFile()
        var surroundings = Surroundings()
        surroundings.passed = report.number
        // Orders from a supervisor that is not the parent process, with the shared memory as descriptor 3.
        surroundings.environment["TRANSFER_SUPERVISOR"] = "1 3 -1 0 0 -1"
        let home = try TemporaryDirectory()
        let flags = ["--dir", home.path("in"), "--listen", "127.0.0.1:0", "--plaintext"]
        let worker = try Program(["serve"] + flags, surroundings)
        #expect(throws: Program.Failure.self, "it listens") { try worker.waitForError(" listening on ") }
        guard worker.errorText.isEmpty else { return }
        #expect(try worker.wait() == .exited(ExitCode.fault.rawValue))
        withExtendedLifetime(report) {}
    }

    @Test func withoutASupervisorTheServerEnds() throws {
        let server = try RunningServer(["--no-supervise"])
        #expect(server.worker == nil)
        #expect(try server.push([photo]).end == .exited(0))
        server.program.signal(SIGKILL)
        #expect(try server.program.wait() == .killed(by: SIGKILL))
    }

    /// Setting the variable that identifies workers does not make a process a worker.
    @Test(arguments: ["", "nonsense", "1 2 3 4 5", "1 3 -1 0 0 4", "-1 99999 99999 99999 99999"])
    func anEnvironmentMakesNoWorker(_ orders: String) throws {
        var surroundings = Surroundings()
        surroundings.environment["TRANSFER_SUPERVISOR"] = orders
        let server = try RunningServer([], surroundings)
        #expect(try server.push([photo]).end == .exited(0))
        #expect(server.worker != nil)
    }

    @Test func aUnixSocketStays() throws {
        let home = try TemporaryDirectory()
        let address = "unix:" + home.path("socket")
        let server = try RunningServer(["--listen", address])
        try server.program.waitForError("listening on \(address)")
        kill(try server.waitForWorker(), SIGKILL)
        let push = try Finished(["push", photo, "--plaintext", "--to", address])
        #expect(push.end == .exited(0), "\(push.errors)\n\(server.program.errorText)")
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        #expect(names(in: home.path) == [], "it goes with the server")
    }

    /// The service manager accepts messages only from the process that it started, so all messages go through the
    /// supervisor.
    @Test func theServiceManagerIsToldOfIt() throws {
        let home = try TemporaryDirectory()
        let manager = try NotificationSocket(home.path("notify"))
        var surroundings = Surroundings()
        surroundings.environment["NOTIFY_SOCKET"] = manager.name
        let server = try RunningServer([], surroundings)
        let ready = ["READY=1", "STATUS=Listening on \(server.address)"]
        #expect(try manager.next() == ready)
        kill(try server.waitForWorker(), SIGKILL)
        #expect(try manager.next() == ["STATUS=Starting again after SIGKILL"])
        #expect(try manager.next() == ready)
        // A worker that another program has asked to end stops, but the service does not.
        kill(try server.waitForWorker(), SIGTERM)
        #expect(try manager.next() == ["STATUS=Starting again after SIGTERM"])
        #expect(try manager.next() == ready)
        server.program.signal(SIGHUP)
        #expect(try manager.wait(for: "RELOADING=1").count == 2)
        server.program.signal(SIGTERM)
        #expect(try manager.wait(for: "STOPPING=1").count == 2)
        #expect(try server.program.wait() == .exited(0))
    }

    @Test(arguments: [[], ["--no-supervise"]]) func aServiceManagersSocketIsServed(flags: [String]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 10) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        try #require(port)
        var surroundings = Surroundings()
        surroundings.listener = listener
        // The server ignores its own listening address.
        let server = try RunningServer(flags, at: "127.0.0.1:1", surroundings)
        #expect(server.address == "127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
        #expect(try server.push([photo]).end == .exited(0))
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
    }

    @Test func whatIsNoListeningSocketIsRefused() throws {
        let pair = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(pair) }
        var surroundings = Surroundings()
        surroundings.listener = pair
        let home = try TemporaryDirectory()
        let serve = try Finished(["serve", "--dir", home.path("in")], surroundings)
        #expect(serve.end == .exited(5))
        #expect(
            serve.errors.contains("The descriptor 3, which LISTEN_FDS announces, is not a listening"), "\(serve.errors)"
        )
    }
}
