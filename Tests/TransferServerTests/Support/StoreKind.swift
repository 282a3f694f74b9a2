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

    /// The value of `TRANSFER_TEST_STORE`: the only store of all suites, or `each` for each store of all suites that can run
    /// over several; nil for the usual choice.
    private static let wanted = getenv("TRANSFER_TEST_STORE").map { String(cString: $0) }
    private static let only = wanted.flatMap { StoreKind(rawValue: $0) }

    /// The kinds over which the tests of a suite run.
    ///
    /// - Parameter isLong: whether the suite runs over each store only on request.
    fileprivate static func chosen(isLong: Bool) -> [StoreKind] {
        if let only { return [only] }
        return isLong && wanted != "each" ? [.directory] : allCases
    }

    /// Store of the servers that the present test starts.
    @TaskLocal static var current = only ?? .directory

    /// Servers that the present test starts at a time, if its store is for several.
    @TaskLocal static var mostServers = 2

    /// Abilities that a store in memory offers.
    @TaskLocal static var abilities = StoreAbilities()

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
                memory.folders)
        }
        foundations.openAccess = { _ in memory.access }
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
            do {
                let folders = try memory.folders(configuration.directory)
                return OpenedStore(try cluster.store(quota: configuration.space.quota), folders)
            } catch {
                throw Failure(.storageFailed, "\(error)")
            }
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

/// A medium with access lists and the records of uploads and mail, and the folders for the servers' own files. It lives
/// as long as the directory.
private final class MemoryInFolder: Sendable {
    let medium = MemoryMedium()
    let cluster = ClusterMedium()
    let access = MemoryAccess()
    let uploads = MemoryUploads()
    let mailboxes = MemoryMailboxes()
    /// The folders of the first server.
    let folders: OpenedStore.Folders
    private let opened = Locked<[String: ServerFolders]>([:])

    private init(_ path: String) throws {
        let first = try ServerFolders(path)
        folders = first.folders
        opened.withLock { $0[path] = first }
    }

    /// The folders of a server with this directory.
    func folders(_ path: String) throws -> OpenedStore.Folders {
        try opened.withLock { opened in
            let found = try opened[path] ?? ServerFolders(path)
            opened[path] = found
            return found.folders
        }
    }

    static func of(_ directory: TemporaryDirectory) throws -> MemoryInFolder {
        try directory.companion { try MemoryInFolder(directory.path("store")) }
    }
}

/// The folders in which one server keeps its own files.
private final class ServerFolders: Sendable {
    private let top: Descriptor
    private let own: Descriptor

    init(_ path: String) throws {
        let folder = "\(path)/\(RelativePath.reservedName)"
        for (path, mode) in [(path, mode_t(0o755)), (folder, 0o700)] {
            guard mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError(errno: errno, call: "mkdir") }
        }
        top = try Self.open(path)
        own = try Self.open(folder)
    }

    var folders: OpenedStore.Folders { OpenedStore.Folders(directory: top.number, own: own.number) }

    private static func open(_ path: String) throws(SystemError) -> Descriptor {
        Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
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
        guard testCase != nil, !test.traits.contains(where: { $0 is DirectoryOnly }) else {
            return try await function()
        }
        for kind in StoreKind.chosen(isLong: isLong) {
            try await StoreKind.$current.withValue(kind) { try await function() }
        }
    }
}

/// Runs a test or a suite only over the directory, although its suite, or the whole run, is over other stores. The test
/// looks at properties that only a disk has, or changes files behind the server.
struct DirectoryOnly: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreKind.$current.withValue(.directory) { try await function() }
    }
}

extension Trait where Self == DirectoryOnly {
    static var directoryOnly: DirectoryOnly { DirectoryOnly() }
}

/// Starts one server for a test or a suite, whatever its store is. The test looks at what each server has for itself:
/// its connections, its limits, its log, and which clients are there at the moment.
struct OneServer: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreKind.$mostServers.withValue(1) { try await function() }
    }
}

extension Trait where Self == OneServer {
    static var oneServer: OneServer { OneServer() }
}

extension Trait where Self == EachStore {
    static var overEachStore: EachStore { EachStore() }
    static var overEachStoreIfAsked: EachStore { EachStore(isLong: true) }
}
