import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The lock of a directory, and whether its holder still has it.
@Suite struct DirectoryLockTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    private var path: String { temporary.path("store") }

    private func open() throws -> DirectoryLock { try DirectoryLock(ofDirectory: path) }

    @Test func oneHolderAtATime() throws {
        let (first, second) = (try open(), try open())
        #expect(try first.take() && !second.take())
        #expect(try first.isHeld())
        #expect(second.holder?.hasPrefix("process \(getpid()) on ") == true)
        first.release()
        #expect(try second.take())
        // `first` stands for a machine that has lost its lock and does not know it yet.
        #expect(try !first.isHeld() && second.isHeld())
    }

    @Test func aLockThatIsPassedOnOutlivesItsFirstHolder() throws {
        var first: DirectoryLock? = try open()
        #expect(try first?.take() == true)
        let descriptor = try #require(try first?.passOn())
        first = nil
        #expect(try !open().take())
        var store: FileStore? = try FileStore(path: path, lock: descriptor)
        #expect(try store?.isHeld() == true)
        // A worker that ends leaves the lock to its supervisor.
        store?.unlock()
        #expect(try !open().take())
        store = nil
        #expect(try open().take())
    }

    /// The machine has lost the lock and another machine has held it; the lock is free again when a worker starts.
    @Test func whatAnotherHolderHasWrittenIsNotTakenForItsOwn() throws {
        let lock = try open()
        #expect(try lock.take())
        let descriptor = try lock.passOn()
        try Files.write(Array("another 1 run 2\n".utf8), to: temporary.path("store/.transfer/lock"))
        let failure = #expect(throws: Failure.self) { try FileStore(path: path, lock: descriptor) }
        #expect(failure?.code == .busy)
    }

    /// Another server would create the lock file again and lock the new file.
    @Test func aFileThatIsGoneHoldsNobody() throws {
        let lock = try open()
        #expect(try lock.take())
        unlink(temporary.path("store/.transfer/lock"))
        #expect(try !lock.isHeld())
    }

    @Test func aFileThatCannotBeReadSaysNothing() throws {
        let lock = try open()
        #expect(try lock.take())
        unlink(temporary.path("store/.transfer/lock"))
        symlink("elsewhere", temporary.path("store/.transfer/lock"))
        #expect(throws: SystemError.self) { try lock.isHeld() }
    }

    @Test func theLockIsWhereFileTrustLooksForIt() {
        #expect(FileTrust.lockOfServedDirectory == "\(RelativePath.reservedName)/\(DirectoryLock.name)")
    }

    @Test(arguments: [false, true]) func nothingIsDurableWithoutTheLock(isShared: Bool) throws {
        let lock = try open()
        let store = try FileStore(
            path: path, durability: .commit, lock: isShared && (try lock.take()) ? try lock.passOn() : nil,
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), disk: Disk())
        let committer = store.incoming.committer
        #expect(committer.commit([store.tree.root], since: committer.failures) == [nil])
        try Files.write(Array("another 1 run 2\n".utf8), to: temporary.path("store/.transfer/lock"))
        let error = try #require(committer.commit([store.tree.root], since: committer.failures).first)
        #expect((error == nil) == !isShared)
        guard let error else { return }
        let failure = Failure(error, doing: "make the content durable")
        #expect(failure.code == .busy && failure.message.contains("another server has taken over"))
    }

    @Test func theLockIsTried() throws {
        let lock = try open()
        #expect([.machine, .network(isCoherent: true), .network(isCoherent: false)].contains(try lock.reach()))
        #expect(try DirectoryHandle(path: temporary.path("store/.transfer"), on: Disk()).names() == ["lock"])
    }

    private static let mountinfo = """
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
        30 22 0:25 / /tmp rw - tmpfs tmpfs rw
        41 22 0:50 / /nfs rw,relatime shared:9 - nfs4 host:/x rw,vers=4.2,hard,local_lock=none
        42 22 0:51 / /local rw - nfs4 host:/x rw,vers=4.2,local_lock=all
        43 22 0:52 / /old rw - nfs host:/x rw,vers=3,local_lock=none
        44 22 0:53 / /ceph rw - ceph 10.0.0.1:/ rw,acl
        45 22 0:54 / /juice rw - fuse.juicefs JuiceFS:x rw,max_read=131072
        46 22 0:55 / /ssh rw - fuse.sshfs host: rw
        47 22 0:56 / /cifs rw - cifs //host/x rw,vers=3.1.1
        48 22 0:57 / /lustre rw - lustre x rw,flock
        49 22 0:58 / /lustre2 rw - lustre x rw,localflock
        50 22 0:59 / /four rw - nfs host:/x rw,vers=4.1,local_lock=none
        51 22 0:60 / /a - b
        53 22 0:61 /sub /again rw - btrfs /dev/sda1 rw
        54 22 0:62 / /stale rw - nfs4 host:/x rw,vers=4.2,nocto,local_lock=none
        """

    @Test(arguments: [
        (22, LockReach.machine), (30, .machine), (41, .network(isCoherent: false)), (44, .network(isCoherent: true)),
        (45, .network(isCoherent: false)), (48, .network(isCoherent: true)), (50, .network(isCoherent: false)),
        (53, .machine),
    ]) func whereALockHolds(number: Int, expected: LockReach) {
        #expect(LockReach(LockReach.Mount("\(number)", in: Self.mountinfo)) == expected)
    }

    @Test(arguments: [
        (42, "local_lock=none"), (43, "vers=4.2"), (46, "fuse.sshfs"), (47, "cifs"), (49, "option flock"),
        (51, "b is not known"), (54, "without nocto"), (99, "cannot be determined"),
    ]) func whereItDoesNot(number: Int, words: String) {
        guard case .unknown(let reason) = LockReach(LockReach.Mount("\(number)", in: Self.mountinfo)) else {
            Issue.record("it is taken to hold")
            return
        }
        #expect(reason.contains(words))
    }
}
