import Glibc
import Testing
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct DiskTests {
    private static func isSync(_ call: DiskCall) -> Bool { if case .sync = call { true } else { false } }

    /// A signal can interrupt a call many times; the call is repeated until it is complete.
    @Test func interruptedCallsAreMadeAgain() throws {
        let temporary = try TemporaryDirectory()
        let attempts = Locked(0)
        let disk = Disk(interception: { call, body in
            guard Self.isSync(call) else { return body() }
            return attempts.withLock { attempts in
                attempts += 1
                return attempts < 4 ? -Int(EINTR) : body()
            }
        })
        try DirectoryHandle(path: temporary.path, on: disk).sync()
        #expect(attempts.withLock { $0 } == 4)
    }

    /// The interception receives the kernel's results, and the store receives the results that the interception
    /// returns.
    @Test func errorsPassInBothDirections() throws {
        let temporary = try TemporaryDirectory()
        let results = Locked([Int]())
        let disk = Disk(interception: { call, body in
            if Self.isSync(call) { return -Int(EDQUOT) }
            let result = body()
            results.withLock { $0.append(result) }
            return result
        })
        let directory = try DirectoryHandle(path: temporary.path, on: disk)
        #expect(throws: SystemError(errno: EDQUOT, call: "fsync")) { try directory.sync() }
        #expect(throws: SystemError(errno: ENOENT, call: "unlinkat")) { try directory.unlink("nothing") }
        #expect(results.withLock { $0 } == [Int(directory.number), -Int(ENOENT)])
    }

    /// The calls of directories that are opened through an intercepted directory are intercepted as well.
    @Test func allOfAStoreAndNothingElse() throws {
        let calls = Locked(0)
        let disk = Disk(interception: { _, body in
            calls.withLock { $0 += 1 }
            return body()
        })
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("a"), durability: .commit, fileSystem: nil, disk: disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "a")
        let opened = calls.withLock { $0 }
        #expect(opened > 5)
        try fixture.publish("d/a", .one)
        let published = calls.withLock { $0 }
        #expect(published >= opened + 5)
        try StoreFixture().publish("d/a", .one)
        #expect(calls.withLock { $0 } == published)
    }
}
