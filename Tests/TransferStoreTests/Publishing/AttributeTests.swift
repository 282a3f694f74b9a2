import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Times and permissions of published files.
@Suite struct AttributeTests {
    @Test(
        arguments: [
            (0o644, 0o644), (0o755, 0o755), (0o600, 0o600), (0o444, 0o444), (0, 0), (0o777, 0o777), (0o4777, 0o777),
            (0o2755, 0o755), (0o1666, 0o666), (0o7000, 0), (0xFFFF, 0o777), (nil, 0o666),
        ] as [(UInt16?, mode_t)], [false, true])
    func permissions(_ mode: (given: UInt16?, expected: mode_t), asPart: Bool) throws {
        let fixture = try StoreFixture()
        for policy in [ConflictPolicy.keepBoth, .overwrite] {
            try Files.write(.six, to: fixture.path("overwrite"))
            let name = policy == .overwrite ? "overwrite" : "a"
            try fixture.publish(name, .one, policy, asPart: asPart, permissions: mode.given)
            let rights = mode_t(fixture.store.rights.file)
            #expect(Files.mode(fixture.path(name)) == mode.expected & ~fixture.store.umask | rights)
            unlink(fixture.path(name))
        }
    }

    /// The same umask applies to every file that this process makes.
    @Test func theUmaskIsKnown() throws {
        let fixture = try StoreFixture()
        try Files.write(.one, to: fixture.temporary.path("mine"), mode: 0o777)
        #expect(Files.mode(fixture.temporary.path("mine")) == 0o777 & ~fixture.store.umask)
    }

    @Test(arguments: [mode_t(0), 0o022, 0o027, 0o077, 0o777]) func anyUmask(umask: mode_t) throws {
        let fixture = try StoreFixture()
        let publication = try fixture.publication("a", .one, asPart: true, permissions: 0o777)
        let publisher = Publisher(tree: fixture.store.tree, umask: umask, incoming: fixture.store.incoming)
        let outcome = publisher.publish([publication]).outcomes
        #expect(try outcome[0].get().withoutIdentity == .committed("a"))
        #expect(Files.mode(fixture.path("a")) == 0o777 & ~umask)
    }

    /// Opening stores in many threads never changes the mode of other files.
    @Test func readingTheUmaskDisturbsNobody() async throws {
        let umask = try StoreFixture().store.umask
        try await withThrowingTaskGroup(of: mode_t.self) { group in
            for _ in 0..<16 { group.addTask { try StoreFixture().store.umask } }
            for try await other in group { #expect(other == umask) }
        }
    }

    @Test(
        arguments: [
            (1_700_000_000, 123_456_789), (0, 0), (1, 0), (-1, 0), (-1, 999_999_999), (-86_400 * 365, 5),
            (1 << 31, 0), (1 << 33, 1),
        ] as [(Int64, UInt32)], [false, true])
    func modificationTime(_ time: (seconds: Int64, nanoseconds: UInt32), asPart: Bool) throws {
        let fixture = try StoreFixture()
        let modified = Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds)
        try fixture.publish("a", .one, asPart: asPart, modified: modified, permissions: 0o400)
        let status = try #require(Files.status(fixture.path("a")))
        #expect(status.st_mtim.tv_sec == Int(time.seconds))
        #expect(status.st_mtim.tv_nsec == Int(time.nanoseconds))
    }

    /// A file system limits the times that it cannot keep; the upload is stored anyway.
    @Test(arguments: [Int64.min, -1 << 40, 1 << 40, .max]) func timesBeyondTheFileSystem(seconds: Int64) throws {
        let fixture = try StoreFixture()
        let modified = Timestamp(seconds: seconds, nanoseconds: 999_999_999)
        #expect(try fixture.publish("a", .one, modified: modified) == .committed("a"))
        #expect(try fixture.publish("b", .one, asPart: true, modified: modified) == .committed("b"))
    }

    @Test func withoutATimeItIsNow() throws {
        let fixture = try StoreFixture()
        try Files.write(.one, to: fixture.temporary.path("before"))
        try fixture.publish("a", .one)
        let before = try #require(Files.status(fixture.temporary.path("before")))
        let status = try #require(Files.status(fixture.path("a")))
        #expect(status.st_mtim.tv_sec >= before.st_mtim.tv_sec)
    }
}
