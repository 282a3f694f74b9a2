import CLinux
import Glibc
import TransferPorts
import TransferCatalog
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The directory of a server as its end left it, for another one to be started on.
struct CrashedDirectory {
    let temporary: TemporaryDirectory

    /// Where what another server does is written down, with what was promised before.
    let recording: DiskRecording

    /// What others see: the content of files; nothing for directories.
    let visible: [String: [UInt8]?]

    /// Paths of files that have another name in the server's folder, which goes when the server is started or asked about
    /// the upload. Then they have changed, and the catalog does not know them.
    let linked: Set<String>

    /// Another run of the kernel.
    private static let otherBoot = "00000000-0000-4000-8000-000000000000"

    /// - Parameters:
    ///   - catalog: by its number in the run.
    ///   - end: effects that have taken place.
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
            // What somebody had begun to replace or to remove may be either.
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

    /// What others see of a server's directory.
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

    /// Files have other inodes here. One that has its size is taken to be the version that the catalog knows: the
    /// times may be on disk long before the content is.
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
