import CLinux
import Glibc
import Testing
import TransferAccess
import TransferCatalog
import TransferCluster
import TransferClusterModel
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// Kind of the store behind the server of a test.
enum StoreKind: String, CaseIterable, Sendable {
    case directory, memory, cluster

    /// `directory`, `memory`, `cluster` or `each`: the store of suites that do not choose one themselves. Long suites run over
    /// each store only on request.
    fileprivate static let wanted = getenv("TRANSFER_TEST_STORE").map { String(cString: $0) }

    /// The kinds over which suites run. The store of a cluster is not among them while parts of it are missing; suites
    /// run over it on request.
    fileprivate static let complete: [StoreKind] = [.directory, .memory]

    /// Store of the servers that the present test starts.
    @TaskLocal static var current = wanted.flatMap { StoreKind(rawValue: $0) } ?? .directory

    /// Abilities that a store in memory offers.
    @TaskLocal static var abilities = StoreAbilities()

    /// Whether the records of uploads and mail are in files even if the store is in memory.
    @TaskLocal fileprivate static var keepsRecordsInFiles = false

    /// Installs the store, and the records and access lists that belong to it.
    ///
    /// - Parameter directory: directory for the server's files.
    /// - Returns: the medium of a store in memory; nil for a store in the directory.
    func prepare(
        _ foundations: inout ServerFoundations, in directory: TemporaryDirectory
    ) throws -> (any TestMedium)? {
        guard self != .directory else { return nil }
        let memory = try MemoryInFolder.of(directory)
        guard self == .memory else { return prepareCluster(&foundations, in: memory) }
        let abilities = Self.abilities
        foundations.openStore = { (configuration) throws(Failure) in
            OpenedStore(
                try MemoryStore(
                    memory.medium, durability: configuration.durability, limits: configuration.space,
                    abilities: abilities),
                OpenedStore.Folders(directory: memory.top.number, own: memory.own.number))
        }
        foundations.openAccess = { _ in memory.access }
        guard !Self.keepsRecordsInFiles else { return memory.medium }
        foundations.openCatalog = { path, _, _ in
            // The server detects that a directory is a copy by a mark that names the file of the catalog.
            close(open(path, O_WRONLY | O_CREAT, 0o600))
            return MemoryRecords(memory.uploads)
        }
        foundations.openMail = { _, _, _ in MemoryMail(memory.mailboxes) }
        return memory.medium
    }

    /// - Returns: the medium of the cluster.
    private func prepareCluster(_ foundations: inout ServerFoundations, in memory: MemoryInFolder) -> ClusterMedium {
        let cluster = memory.cluster
        foundations.openStore = { (configuration) throws(Failure) in
            let store: ClusterStore
            do {
                store = try cluster.store(quota: configuration.space.quota)
            } catch {
                throw Failure(.storageFailed, "\(error)")
            }
            return OpenedStore(store, OpenedStore.Folders(directory: memory.top.number, own: memory.own.number))
        }
        foundations.openAccess = { _ in ClusterAccess(cluster.ledger(), interval: 0) }
        foundations.openCatalog = { path, _, _ in
            close(open(path, O_WRONLY | O_CREAT, 0o600))
            return ClusterRecords(cluster.ledger())
        }
        foundations.openMail = { _, _, _ in ClusterMail(cluster.ledger()) }
        return cluster
    }

    /// Opens the records of uploads as a program beside the server does. A server with the store `store` in the
    /// directory has made them.
    func records(in directory: TemporaryDirectory) throws -> any UploadRecords {
        if self == .cluster { return ClusterRecords(try MemoryInFolder.of(directory).cluster.ledger()) }
        guard self == .directory else { return MemoryRecords(try MemoryInFolder.of(directory).uploads) }
        return Catalog(path: Catalog.path(in: directory.path("store")), isDurable: false) { _ in }
    }

    /// Makes `store` in the directory, and the access lists of the servers that store in it.
    func access(in directory: TemporaryDirectory) throws -> any AccessLists {
        if self == .cluster { return ClusterAccess(try MemoryInFolder.of(directory).cluster.ledger(), interval: 0) }
        guard self == .directory else { return try MemoryInFolder.of(directory).access }
        _ = mkdir(directory.path("store"), 0o755)
        let folder = AccessFolder(of: directory.path("store"))
        try folder.make()
        return folder
    }
}

extension AccessLists {
    /// Gives a client other rights, in one step.
    func replace(_ key: AuthorizedKey) throws(AccessFault) {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (keys: inout AuthorizedKeys) throws(AccessFault) in
                _ = keys.remove { $0.key == key.key }
                try keys.append(key)
            }
        }
    }
}

/// The medium of a store in memory, which a test looks at and changes beside the server.
protocol TestMedium: Sendable {
    /// - Returns: nil if there is no file at the path.
    func content(_ path: RelativePath) -> [UInt8]?

    func write(_ content: [UInt8], _ path: RelativePath) throws

    func paths() -> [String]

    /// The IDs of unfinished uploads.
    var uploads: [UploadID] { get }
}

extension ClusterMedium: TestMedium {}

extension MemoryMedium: TestMedium {
    func paths() -> [String] { paths(below: nil) }
}

/// A medium with access lists and the records of uploads and mail, and the folder for the servers' own files. It lives
/// as long as the directory.
private final class MemoryInFolder: Sendable {
    let medium = MemoryMedium()
    let cluster = ClusterMedium()
    let access = MemoryAccess()
    let uploads = MemoryUploads()
    let mailboxes = MemoryMailboxes()
    let top: Descriptor
    let own: Descriptor

    private init(_ path: String) throws {
        let folder = "\(path)/\(RelativePath.reservedName)"
        for (path, mode) in [(path, mode_t(0o755)), (folder, 0o700)] {
            guard mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError(errno: errno, call: "mkdir") }
        }
        top = try Self.open(path)
        own = try Self.open(folder)
    }

    private static func open(_ path: String) throws(SystemError) -> Descriptor {
        Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
    }

    static func of(_ directory: TemporaryDirectory) throws -> MemoryInFolder {
        try directory.companion { try MemoryInFolder(directory.path("store")) }
    }
}

/// Runs each test of a suite over every store: a server's answers do not depend on its store.
struct EachStore: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    /// Whether this applies only on request: `TRANSFER_TEST_STORE=each`.
    var isLong = false

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        guard !isLong || StoreKind.wanted == "each" else { return try await function() }
        guard !test.traits.contains(where: { $0 is DirectoryOnly }) else {
            return try await StoreKind.$current.withValue(.directory) { try await function() }
        }
        for kind in StoreKind.complete { try await StoreKind.$current.withValue(kind) { try await function() } }
    }
}

/// Runs a test only over the directory, although its suite runs over every store. The test looks at properties that
/// only a disk has, or changes files behind the server.
struct DirectoryOnly: TestTrait {}

extension Trait where Self == DirectoryOnly {
    static var directoryOnly: DirectoryOnly { DirectoryOnly() }
}

/// Keeps the records of uploads and mail of a test in files, whatever its store is, because the test opens the files
/// itself.
struct RecordsInFiles: TestTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreKind.$keepsRecordsInFiles.withValue(true) { try await function() }
    }
}

extension Trait where Self == RecordsInFiles {
    static var recordsInFiles: RecordsInFiles { RecordsInFiles() }
}

extension Trait where Self == EachStore {
    static var overEachStore: EachStore { EachStore() }
    static var overEachStoreIfAsked: EachStore { EachStore(isLong: true) }
}
