import CLinux
import Glibc
import Testing
import TransferClient
import TransferModel
import TransferTestSupport

/// Sources that are not plain files.
@Suite struct PushSourceTests {
    /// The next push of the changed file is another upload, so no part of this one may stay on the server.
    @Test(arguments: [1, 3]) func nothingStaysOfALongFileThatChanges(_ lanes: Int) async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory(prefersMemory: true)
            let path = directory.path("big")
            // A progress event may be delivered too late for the change to affect the upload, so the test tries again.
            for attempt in 0..<50 {
                // The file has no holes, which would not be sent.
                try Files.write(path, [UInt8](repeating: UInt8(attempt + 1), count: 96 << 20))
                var configuration = ClientConfiguration.patient
                configuration.lanes = .fixed(lanes)
                let client = try TransferClient(server: server.address, configuration: configuration)
                var code: ResultCode?
                for try await event in client.push([.path(path), .text("after", name: "after")]) {
                    switch event {
                    case .progress: #expect(truncate(path, off_t(97 << 20 + attempt)) == 0)
                    case .finished(let report) where report.source == path: code = report.result
                    default: break
                    }
                }
                if code == .committed { continue }
                #expect(code == .sourceChanged)
                #expect(server.parts.isEmpty)
                return
            }
            Issue.record("the file never changed in time")
        }
    }

    @Test func specialFilesInADirectoryAreSkipped() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            let top = source.path("in")
            try Files.write("\(top)/first", "1")
            try Files.write("\(top)/zlast", "2")
            #expect(symlink("first", "\(top)/link") == 0)
            #expect(symlink("/nowhere", "\(top)/dangling") == 0)
            #expect(mkfifo("\(top)/fifo", 0o600) == 0)
            let listener = try UnixSocket("\(top)/socket")
            let hasDevice = mknod("\(top)/null", S_IFCHR | 0o600, 0x103) == 0
            let outcome = try await server.address.outcome([.path(top)])
            #expect(outcome.failure == nil)
            for name in ["link", "dangling", "fifo", "socket"] + (hasDevice ? ["null"] : []) {
                #expect(outcome["\(top)/\(name)"]?.result == .sourceSkipped, "\(name)")
            }
            #expect(server.tree == ["in/first", "in/zlast"])
            listener.stop()
        }
    }

    @Test func specialOperandsAreSkipped() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            #expect(mkfifo(source.path("fifo"), 0o600) == 0)
            let listener = try UnixSocket(source.path("socket"))
            let paths = [source.path("fifo"), source.path("socket"), "/dev/null"]
            let outcome = try await server.address.outcome(paths.map { .path($0) } + [.text("x", name: "good")])
            #expect(outcome.codes.filter { $0 == .sourceSkipped }.count == 3)
            #expect(server.tree == ["good"])
            listener.stop()
        }
    }

    @Test func aSymbolicLinkThatIsNamedIsFollowed() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("real/file"), "content")
            #expect(symlink("real/file", source.path("link")) == 0)
            #expect(symlink("real", source.path("dirlink")) == 0)
            let outcome = try await server.address.outcome([.path(source.path("link")), .path(source.path("dirlink"))])
            #expect(outcome.codes == [.committed, .committed])
            #expect(server.tree == ["dirlink/file", "link"])
            #expect(server.stored("link") == Array("content".utf8))
        }
    }

    @Test func aNameThatIsNotUTF8IsReported() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("in/good"), "1")
            let name = Array(source.path("in/").utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0x61, 0]
            let number = creat(name, 0o600)
            try Files.check(number, "creat")
            close(number)
            let outcome = try await server.address.outcome([.path(source.path("in"))])
            #expect(outcome.codes.sorted { $0.rawValue < $1.rawValue } == [.committed, .sourceUnreadable])
            #expect(outcome[source.path("in/\u{FFFD}a")]?.message.contains("UTF-8") == true)
            #expect(server.tree == ["in/good"])
        }
    }

    @Test func aMissingFileCostsOnlyItself() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("good"), "1")
            let paths = ["missing", "good", "good/below", ""].map { $0.isEmpty ? "" : source.path($0) }
            let outcome = try await server.address.outcome(paths.map { .path($0) })
            #expect(outcome.failure == nil)
            #expect(outcome.reports.count == 4)
            #expect(outcome[source.path("good")]?.result == .committed)
            for path in paths where path != source.path("good") {
                #expect(outcome[path]?.result == .sourceUnreadable)
                #expect(outcome[path]?.storedPath == nil)
            }
        }
    }

    @Test(.enabled(if: getuid() != 0, "root can read everything"))
    func anUnreadableFileCostsOnlyItself() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            for name in ["a", "b", "c/d"] { try Files.write(source.path("in/\(name)"), name) }
            #expect(chmod(source.path("in/a"), 0) == 0)
            #expect(chmod(source.path("in/c"), 0) == 0)
            let outcome = try await server.address.outcome([.path(source.path("in"))])
            #expect(outcome[source.path("in/a")]?.result == .sourceUnreadable)
            #expect(outcome[source.path("in/c")]?.result == .sourceUnreadable)
            #expect(outcome[source.path("in/b")]?.result == .committed)
        }
    }

    @Test func filesAreCountedAhead() async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            try Files.write(source.path("in/a"), "12")
            try Files.write(source.path("in/b/c"), "345")
            var configuration = ClientConfiguration.patient
            configuration.countsAhead = true
            let client = try TransferClient(server: server.address, configuration: configuration)
            let gate = Gate()
            var counted: [UInt64] = []
            for try await event in client.push([
                .path(source.path("in")), .text("6789", name: "t"), .stream(GatedSource(gate), name: "s"),
            ]) {
                guard case .counted(let files, let bytes) = event else { continue }
                counted += [UInt64(files), bytes]
                gate.put(nil)
            }
            #expect(counted == [4, 9])
        }
    }
}

/// A socket in the file system.
private struct UnixSocket {
    private let number: Int32

    init(_ path: String) throws {
        number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let number = number
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try Files.check(code, "bind")
    }

    func stop() {
        close(number)
    }
}
