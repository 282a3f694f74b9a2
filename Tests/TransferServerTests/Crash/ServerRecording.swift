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

/// What a server did to its disk and to its catalog, and what it told its clients, in one order.
final class ServerRecording: Sendable {
    /// What is not of the disk.
    enum Note: Sendable {
        /// A transaction of the catalog is about to be committed, which makes this state of it.
        case committing(Int)
        /// It is committed.
        case committed(Int, isSynced: Bool)
        /// A client was told that an upload is stored.
        case acknowledged(UploadResult)
        /// A client was told that bytes of an upload have come.
        case staged(UploadID, Range<Int>)
        /// A client was told that nothing has the path.
        case removed(String)
    }

    /// The files of a catalog, by what is behind the database's name.
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

    /// - Parameter fileSystem: what the server takes its directory to be on.
    init(in directory: TemporaryDirectory, on fileSystem: FileSystem) {
        self.directory = directory.path("store")
        self.fileSystem = fileSystem
    }

    /// For the server that is recorded.
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

    /// Begins with what is there now, which is taken to be durable.
    func start() {
        var recording = DiskRecording(of: directory)
        recording.entries = recording.entries.filter { !$0.key.name.hasPrefix(Catalog.fileName) }
        start(recording)
    }

    /// Goes on with what another has written down, with the notes of nobody.
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

    /// With the lock of the writing connection held, so nobody changes the files.
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
