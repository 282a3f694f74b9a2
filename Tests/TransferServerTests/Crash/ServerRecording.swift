import TransferPorts
import TransferDatabase
import TransferModel
import TransferProtocol
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog
@testable import TransferServer
@testable import TransferStore

/// Recording of the changes that a server makes to disk and catalog, and of the answers that it sends, in one order.
final class ServerRecording: Sendable {
    /// Events that are not effects on the disk.
    enum Note: Sendable {
        /// A transaction, which makes this state of the catalog, is about to be committed.
        case committing(Int)
        /// The transaction that made this state is committed.
        case committed(Int, isSynced: Bool)
        /// A client has received the acknowledgement of an upload.
        case acknowledged(UploadResult)
        /// A client has received the result that these bytes are staged.
        case staged(UploadID, Range<Int>)
        /// A client has received the result that the path was removed.
        case removed(String)
    }

    /// Contents of the files of a catalog, by the part of their name after that of the database.
    typealias CatalogState = [String: [UInt8]]

    private struct State {
        var isOn = false
        var notes: [Note] = []
        var catalogs: [CatalogState] = []
    }

    let script = ScriptedDisk()
    private let directory: String
    private let fileSystem: FileSystem
    private let state = Locked(State())

    /// - Parameter fileSystem: properties that the server assumes of the file system.
    init(in directory: TemporaryDirectory, on fileSystem: FileSystem) {
        self.directory = directory.path("store")
        self.fileSystem = fileSystem
    }

    /// Foundations for the server that is recorded.
    var foundations: ServerFoundations {
        var foundations = ServerFoundations()
        foundations.openStore = { [script, fileSystem] (configuration) throws(Failure) in
            OpenedStore(
                try FileStore(
                    path: configuration.directory, durability: .commit, fileSystem: fileSystem, disk: script.disk))
        }
        foundations.openCatalog = { [self] path, isDurable, report in
            let calls = DatabaseCalls(
                failure: { [self] call in
                    if case .commit = call { beginCommit() }
                    return 0
                },
                committed: { [self] in endCommit(isSynced: $0) })
            return Catalog(CatalogConnections(CatalogFile(path: path, isDurable: isDurable, calls: calls), report))
        }
        return foundations
    }

    /// Begins with the current directory, which counts as durable.
    func start() {
        var recording = DiskRecording(of: directory)
        recording.entries = recording.entries.filter { !$0.key.name.hasPrefix(Catalog.fileName) }
        start(recording)
    }

    /// Continues an earlier recording, without its notes.
    func start(_ recording: DiskRecording) {
        state.withLock { state in
            state.isOn = true
            state.catalogs = [readCatalog()]
        }
        script.start(recording)
    }

    var run: CrashRun? {
        let state = state.withLock { $0 }
        return script.recording.map { disk in
            CrashRun(
                disk: disk, notes: state.notes, catalogs: state.catalogs, hasFailed: !script.failed.isEmpty)
        }
    }

    func note(_ note: Note) {
        let number = state.withLock { state in
            state.notes.append(note)
            return state.notes.count - 1
        }
        script.note(number)
    }

    private func beginCommit() {
        let next = state.withLock { $0.isOn ? $0.catalogs.count : nil }
        if let next { note(.committing(next)) }
    }

    /// The lock of the writing connection is held, so the files do not change.
    private func endCommit(isSynced: Bool) {
        let number = state.withLock { state -> Int? in
            guard state.isOn else { return nil }
            state.catalogs.append(readCatalog())
            return state.catalogs.count - 1
        }
        if let number { note(.committed(number, isSynced: isSynced)) }
    }

    private func readCatalog() -> CatalogState {
        var files: CatalogState = [:]
        for suffix in ["", "-wal"] {
            files[suffix] = TestServer.read("\(directory)/\(RelativePath.reservedName)/\(Catalog.fileName)\(suffix)")
        }
        return files
    }
}
