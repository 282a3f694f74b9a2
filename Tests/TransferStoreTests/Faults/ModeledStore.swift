import Glibc
import TransferCluster
import TransferClusterModel
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// A store of either kind as the model compares it, with the changes that other processes may make.
protocol ModeledStore {
    associatedtype Store: ContentStore

    var store: Store { get }

    /// Paths that clients can see: files, and folders with a slash at the end.
    var visible: Set<String> { get }

    var unfinished: Int { get }

    /// - Returns: nil if no file has the path.
    func content(_ path: String) -> [UInt8]?

    /// Another process writes a file without the store.
    func write(_ content: [UInt8], over path: String) throws

    /// Another process removes a file or an empty folder.
    func remove(_ path: String) throws

    /// Sentences about records of the store that contradict one another.
    var faults: [String] { get }

    /// Whether short uploads are admitted without a look at their paths. They are refused when they are published.
    var admitsUnseen: Bool { get }
}

extension ModeledStore {
    var faults: [String] { [] }
    var admitsUnseen: Bool { false }
}

extension StoreFixture: ModeledStore {
    /// - Parameter seed: decides which kind of file system the store assumes, and how it opens paths.
    static func modeled(seed: UInt64) throws -> StoreFixture {
        let script = ScriptedDisk()
        let fileSystem = FileSystem(isMemory: false, syncsAsAWhole: seed.isMultiple(of: 2))
        script.start()
        return try StoreFixture(fileSystem: fileSystem, script: script, usesOpenat2: seed % 4 < 2)
    }

    var unfinished: Int { parts.count }

    func content(_ path: String) -> [UInt8]? { Files.read(self.path(path)) }

    func write(_ content: [UInt8], over path: String) throws { try Files.write(content, to: self.path(path)) }

    func remove(_ path: String) throws { try Files.check("remove", Glibc.remove(self.path(path))) }
}

struct ModeledMemory: ModeledStore {
    private let medium: MemoryMedium
    let store: MemoryStore

    init() throws {
        medium = MemoryMedium()
        store = try MemoryStore(medium)
    }

    var visible: Set<String> {
        Set(
            medium.paths().filter { !$0.hasPrefix(RelativePath.reservedName) }
                .map { content($0) == nil ? $0 + "/" : $0 })
    }

    var unfinished: Int { medium.uploads.count }

    func content(_ path: String) -> [UInt8]? { (try? RelativePath(path)).flatMap(medium.content) }

    func write(_ content: [UInt8], over path: String) throws { try medium.write(content, RelativePath(path)) }

    func remove(_ path: String) throws { try medium.remove(RelativePath(path)) }
}

/// A store of a cluster, with a database and a bucket in memory. Other processes are other servers.
struct ModeledCluster: ModeledStore {
    private let medium = ClusterMedium()
    let store: ClusterStore

    init() throws { store = try medium.store() }

    var visible: Set<String> {
        let folders = medium.folders
        return Set(
            medium.paths().filter { !$0.hasPrefix(RelativePath.reservedName) }
                .map { folders.contains($0) ? $0 + "/" : $0 })
    }

    var unfinished: Int { medium.uploads.count }

    func content(_ path: String) -> [UInt8]? { (try? RelativePath(path)).flatMap(medium.content) }

    func write(_ content: [UInt8], over path: String) throws { try medium.write(content, RelativePath(path)) }

    func remove(_ path: String) throws { try medium.remove(RelativePath(path)) }

    var faults: [String] { medium.database.check() }

    let admitsUnseen = true
}
