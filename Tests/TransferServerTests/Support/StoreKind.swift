import CLinux
import Glibc
import Testing
import TransferAccess
import TransferCatalog
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// What the server of a test stores in.
enum StoreKind: String, CaseIterable, Sendable {
    case directory, memory

    /// `directory`, `memory` or `each`: what suites run over that do not say it themselves. Suites that take long run over each store only
    /// when they are asked to.
    fileprivate static let wanted = getenv("TRANSFER_TEST_STORE").map { String(cString: $0) }

    /// Of the servers that the present test starts.
    @TaskLocal static var current = wanted.flatMap { StoreKind(rawValue: $0) } ?? .directory

    /// What a store in memory says that it can.
    @TaskLocal static var abilities = StoreAbilities()

    /// Whether the records of uploads and mail are in files beside a store in memory, too.
    @TaskLocal fileprivate static var keepsRecordsInFiles = false

    /// Puts the store in place, with what belongs to it.
    ///
    /// - Parameter directory: has what the server keeps on its machine.
    /// - Returns: what there is to look at beside the directory.
    func prepare(
        _ foundations: inout ServerFoundations, in directory: TemporaryDirectory
    ) throws -> MemoryMedium? {
        guard self == .memory else { return nil }
        let memory = try MemoryInFolder.of(directory)
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
            // The mark by which a copy of the directory is noticed names the file of the catalog.
            close(open(path, O_WRONLY | O_CREAT, 0o600))
            return MemoryRecords(memory.uploads)
        }
        foundations.openMail = { _, _, _ in MemoryMail(memory.mailboxes) }
        return memory.medium
    }

    /// The records of uploads of the servers that store in `store` there, as a program beside them opens them.
    func records(in directory: TemporaryDirectory) throws -> any UploadRecords {
        guard self == .directory else { return MemoryRecords(try MemoryInFolder.of(directory).uploads) }
        return Catalog(path: Catalog.path(in: directory.path("store")), isDurable: false) { _ in }
    }

    /// The lists of who may come to the servers that store in `store` there. Makes both.
    func access(in directory: TemporaryDirectory) throws -> any AccessLists {
        guard self == .directory else { return try MemoryInFolder.of(directory).access }
        _ = mkdir(directory.path("store"), 0o755)
        let folder = AccessFolder(of: directory.path("store"))
        try folder.make()
        return folder
    }
}

/// A medium with the lists of who may come in and the records of uploads and mail, and the folder in which its servers keep what is theirs, for
/// as long as the directory is there.
private final class MemoryInFolder: Sendable {
    let medium = MemoryMedium()
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

/// Runs each test of a suite over every store: what clients are told does not depend on what there is behind the server.
struct EachStore: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    /// Whether it does so only when it is asked to: `TRANSFER_TEST_STORE=each`.
    var isLong = false

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        guard !isLong || StoreKind.wanted == "each" else { return try await function() }
        guard !test.traits.contains(where: { $0 is DirectoryOnly }) else {
            return try await StoreKind.$current.withValue(.directory) { try await function() }
        }
        for kind in StoreKind.allCases { try await StoreKind.$current.withValue(kind) { try await function() } }
    }
}

/// Leaves a test of such a suite to the directory: it looks at what only a disk has, or changes it behind the server.
struct DirectoryOnly: TestTrait {}

extension Trait where Self == DirectoryOnly {
    static var directoryOnly: DirectoryOnly { DirectoryOnly() }
}

/// Leaves the records of uploads and mail of a test in files, whatever the store is: the test opens them by itself.
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
