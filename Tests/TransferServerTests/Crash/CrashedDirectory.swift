import CLinux
import Glibc
import TransferPorts
import TransferCatalog
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A copy of the directory of an ended server, on which another server is started.
struct CrashedDirectory {
    let temporary: TemporaryDirectory

    /// Recording for the next server, with the earlier promises.
    let recording: DiskRecording

    /// Content of files, and nil for directories, as other programs see them.
    let visible: [String: [UInt8]?]

    /// Paths of files that have another name in the server's folder. A start, or a question for the upload, removes
    /// that name. The files have changed then, and the catalog does not know them.
    let linked: Set<String>

    /// Boot ID of another run of the kernel.
    private static let otherBoot = "00000000-0000-4000-8000-000000000000"

    /// - Parameters:
    ///   - catalog: number of the catalog's state in the run.
    ///   - end: number of effects that have taken place.
    init(_ run: CrashRun, _ state: DiskState, catalog: Int, at end: Int, after death: CrashRun.Death) throws {
        temporary = try TemporaryDirectory(prefersMemory: true)
        let store = temporary.path("store")
        try system("mkdir") { mkdir(store, 0o755) }
        let boot = BootID.current
        let inodes = try state.write(run.disk, to: store) { name in
            guard death == .machine, name.hasSuffix(boot) else { return name }
            return name.dropLast(boot.count) + Self.otherBoot
        }
        switch death {
        case .process: recording = run.disk.copied(inodes, diesAt: end)
        case .machine:
            var found = DiskRecording(of: store)
            // A file whose replacement or removal had begun may be in either state.
            found.effects = run.disk.effects[..<end].filter { effect in
                switch effect {
                case .acknowledge(let path, let content):
                    state.object(path, below: run.disk.root).map { state.content(of: $0).isSame(as: content) }
                        ?? false
                case .acknowledgeRemoval(let path): state.object(path, below: run.disk.root) == nil
                default: false
                }
            }
            recording = found
        }
        visible = Self.visible(store)
        linked = Set(
            visible.keys.filter { path in
                var status = stat()
                guard stat("\(store)/\(path)", &status) == 0, !isDirectory("\(store)/\(path)") else { return false }
                return status.st_nlink > 1
            })
        try Self.write(run.catalogs[catalog], to: store, run, state)
    }

    /// Reads a server's directory as other programs see it.
    static func visible(_ path: String, _ prefix: String = "") -> [String: [UInt8]?] {
        var visible: [String: [UInt8]?] = [:]
        for name in names(in: path) where prefix + name != RelativePath.reservedName {
            let below = path + "/" + name
            if isDirectory(below) {
                visible[prefix + name] = .some(nil)
                visible.merge(self.visible(below, prefix + name + "/")) { first, _ in first }
            } else {
                visible[prefix + name] = TestServer.read(below)
            }
        }
        return visible
    }

    /// Files have other inodes in the copy. A file of the recorded size counts as the version in the catalog: times may
    /// be on the disk long before the content is.
    private static func write(
        _ catalog: ServerRecording.CatalogState, to store: String, _ run: CrashRun, _ state: DiskState
    ) throws {
        let path = "\(store)/\(RelativePath.reservedName)/\(Catalog.fileName)"
        for (suffix, content) in catalog { try TestServer.write(content, to: path + suffix) }
        let catalog = Catalog(path: path, isDurable: false) { _ in }
        var moved: [CatalogEntry] = []
        try catalog.forEachEntry { entry in
            guard let old = entry.version, let object = state.object(entry.path, below: run.disk.root),
                UInt64(object) == old.object
            else { return }
            var status = stat()
            guard stat("\(store)/\(entry.path)", &status) == 0, UInt64(status.st_size) == old.size else { return }
            var entry = entry
            entry.version = ContentVersion(FileIdentity(status))
            moved.append(entry)
        }
        try catalog.record(moved)
        try catalog.close()
    }
}
