import CLinux
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// Each test confines its own process, for good.
@Suite struct ConfinementTests {
    /// A directory with a file, a second directory, and the process confined to the first directory.
    private struct Fixture {
        let outside: TemporaryDirectory
        let inside: String
        let version: Int

        /// - Parameter reading: files of the outer directory that the process may still read.
        init(reading: [(name: String, isReplaceable: Bool)] = []) throws {
            outside = try TemporaryDirectory()
            // The confined process cannot remove the directory. The shell does, when the pipe to it closes.
            try #require(popen("cat > /dev/null; rm -rf '\(outside.path)'", "w") != nil)
            inside = outside.path("inside")
            try #require(mkdir(inside, 0o700) == 0 && mkdir(inside + "/deep", 0o700) == 0)
            let file = open(outside.path("file"), O_CREAT | O_WRONLY, 0o600)
            try #require(file >= 0)
            close(file)
            for name in ["folder", "folder/deep", "elsewhere"] { try #require(mkdir(outside.path(name), 0o700) == 0) }
            for name in ["folder/file", "folder/other", "folder/deep/file", "elsewhere/file", "elsewhere/other"] {
                close(open(outside.path(name), O_CREAT | O_WRONLY, 0o600))
            }
            try #require(symlink("../elsewhere/file", outside.path("folder/link")) == 0)
            let directory = open(inside, O_RDONLY | O_DIRECTORY)
            defer { close(directory) }
            let confinement = Confinement()
            try confinement.allowFiles(below: directory)
            for (name, isReplaceable) in reading {
                try confinement.allowReading(outside.path(name), isReplaceable: isReplaceable)
            }
            guard case .confined(let version) = try confinement.enforce() else {
                version = 0
                print("Not confined: this kernel has no Landlock, and there is nothing to test.")
                return
            }
            self.version = version
        }
    }

    @Test func nothingOutsideCanBeOpened() async {
        await #expect(processExitsWith: .success) {
            let fixture = try Fixture()
            guard fixture.version > 0 else { return }
            for (path, flags) in [
                ("/etc/passwd", O_RDONLY), ("/", O_RDONLY | O_DIRECTORY), (fixture.outside.path("file"), O_RDONLY),
                (fixture.outside.path("file"), O_WRONLY), (fixture.outside.path("new"), O_WRONLY | O_CREAT),
                (fixture.inside + "/../file", O_RDONLY), ("/proc/self/root", O_RDONLY | O_DIRECTORY),
                ("/proc/self/comm", O_WRONLY), ("/proc", O_RDONLY | O_DIRECTORY),
            ] {
                #expect(open(path, flags, 0o600) == -1 && errno == EACCES, "\(path)")
            }
            #expect(mkdir(fixture.outside.path("new"), 0o700) == -1 && errno == EACCES)
            #expect(unlink(fixture.outside.path("file")) == -1 && errno == EACCES)
            // A link to a path outside can be made, but not followed.
            #expect(symlink("/etc", fixture.inside + "/link") == 0)
            #expect(open(fixture.inside + "/link/passwd", O_RDONLY) == -1 && errno == EACCES)
            #expect(mkfifo(fixture.inside + "/pipe", 0o600) == -1 && errno == EACCES)
            let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            #expect(execv("/bin/true", arguments) == -1 && errno == EACCES)
        }
    }

    @Test func aFileThatMayBeRead() async {
        await #expect(processExitsWith: .success) {
            let fixture = try Fixture(reading: [("folder/file", false), ("none", true)])
            guard fixture.version > 0 else { return }
            #expect(open(fixture.outside.path("folder/file"), O_RDONLY) >= 0)
            #expect(open(fixture.outside.path("folder/file"), O_WRONLY) == -1 && errno == EACCES)
            for name in ["file", "folder/other", "folder/deep/file", "elsewhere/file"] {
                #expect(open(fixture.outside.path(name), O_RDONLY) == -1 && errno == EACCES, "\(name)")
            }
        }
    }

    /// The rule also holds for a link that leads into another folder.
    @Test func aFileWhosePlaceOthersMayTake() async {
        await #expect(processExitsWith: .success) {
            let fixture = try Fixture(reading: [("folder/link", true)])
            guard fixture.version > 0 else { return }
            for name in ["folder/link", "folder/file", "folder/other", "elsewhere/other"] {
                #expect(open(fixture.outside.path(name), O_RDONLY) >= 0, "\(name)")
                #expect(open(fixture.outside.path(name), O_WRONLY) == -1 && errno == EACCES, "\(name)")
            }
            #expect(open(fixture.outside.path("folder"), O_RDONLY | O_DIRECTORY) == -1 && errno == EACCES)
            #expect(open(fixture.outside.path("file"), O_RDONLY) == -1 && errno == EACCES)
        }
    }

    /// Every path is below the root.
    @Test func aFileAtTheRoot() async {
        await #expect(processExitsWith: .success) {
            let confinement = Confinement()
            try confinement.allowReading("/etc/../etc", isReplaceable: true)
            guard case .confined = try confinement.enforce() else { return }
            #expect(open("/proc/../usr/bin/env", O_RDONLY) == -1 && errno == EACCES)
        }
    }

    /// Dispatch ends the process if it cannot read the state of the process's threads.
    @Test func threadsCanBeLookedAt() async {
        await #expect(processExitsWith: .success) {
            _ = try Fixture()
            for thread in names(in: "/proc/self/task") + ["\(clinux_thread())"] {
                #expect(open("/proc/\(thread)/stat", O_RDONLY | O_NONBLOCK) >= 0, "\(thread)")
            }
        }
    }

    /// The steps of publishing: a file without a name gets one in another directory, and replaces a file.
    @Test func everythingInsideCanBeDone() async {
        await #expect(processExitsWith: .success) {
            let fixture = try Fixture()
            let file = open(fixture.inside + "/a", O_RDWR | O_CREAT, 0o600)
            #expect(file >= 0 && ftruncate(file, 5) == 0)
            #expect(rename(fixture.inside + "/a", fixture.inside + "/deep/a") == 0)
            #expect(link(fixture.inside + "/deep/a", fixture.inside + "/b") == 0)
            #expect(mkdir(fixture.inside + "/deep/er", 0o700) == 0)
            // O_TMPFILE of asm-generic/fcntl.h.
            let nameless = open(fixture.inside, 0o20_200_000 | O_RDWR, 0o600)
            if nameless >= 0 {
                let path = "/proc/self/fd/\(nameless)"
                #expect(linkat(AT_FDCWD, path, AT_FDCWD, fixture.inside + "/deep/c", AT_SYMLINK_FOLLOW) == 0)
            }
            #expect(unlink(fixture.inside + "/b") == 0)
            #expect(names(in: fixture.inside + "/deep").count == (nameless >= 0 ? 3 : 2))
        }
    }

    /// Threads that existed before, whatever they wait for, and threads that start later.
    @Test func allThreadsAreConfined() async {
        await #expect(processExitsWith: .success) {
            let pool = BlockingPool(name: "before", threads: 8)
            let gate = Gate()
            for _ in 0..<8 { pool.submit { _ = gate.pass() } }
            let loop = try EventLoop(name: "loop")
            await Task.detached { await Task.yield() }.value
            let fixture = try Fixture()
            gate.open(8)
            for thread in names(in: "/proc/self/task") {
                guard let status = fopen("/proc/self/task/\(thread)/status", "r") else { continue }
                defer { fclose(status) }
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = fread(&bytes, 1, bytes.count, status)
                #expect(String(decoding: bytes[..<count], as: UTF8.self).contains("NoNewPrivs:\t1\n"), "\(thread)")
            }
            guard fixture.version > 0 else { return }
            let later = BlockingPool(name: "later", threads: 1)
            for executor in [pool, later] as [BlockingPool] {
                let code = await executor.run { open("/etc/passwd", O_RDONLY) >= 0 ? 0 : errno }
                #expect(code == EACCES)
            }
            let code = await Task.detached { open("/etc/passwd", O_RDONLY) >= 0 ? 0 : errno }.value
            #expect(code == EACCES)
            loop.stop()
        }
    }

    @Test func noSocketsButThoseThatAreThere() async {
        await #expect(processExitsWith: .success) {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            #expect(listen(listener, 1) == 0)
            let fixture = try Fixture()
            guard fixture.version >= 4 else { return }
            let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            for address in try Endpoint.internet(host: "127.0.0.1", port: 9).resolve() {
                #expect(address.withPointer { connect(number, $0, $1) } == -1 && errno == EACCES)
                #expect(address.withPointer { bind(number, $0, $1) } == -1 && errno == EACCES)
            }
        }
    }

    @Test func onlySomePortsCanBeReached() async {
        await #expect(processExitsWith: .success) {
            let (allowed, other) = (try Self.listener(), try Self.listener())
            let confinement = Confinement()
            try confinement.allowConnecting(toPort: allowed.port)
            guard case .confined(let version) = try confinement.enforce(), version >= 4 else { return }
            #expect(Self.connects(to: allowed.port))
            #expect(!Self.connects(to: other.port) && errno == EACCES)
        }
    }

    private static func listener() throws -> (socket: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        try #require(status)
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    private static func connects(to port: UInt16) -> Bool {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
