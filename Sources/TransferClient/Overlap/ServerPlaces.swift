internal import CLinux
import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Finds out whether a local folder is one that the server stores in, because copying such a folder into itself would
/// have no end.
///
/// A server on the same machine states its directory in `welcome`. The directory can also be mounted from another
/// machine. Therefore the client puts a witness, a temporary file, into the folder, and asks the server whether it sees
/// the witness. A client that may not list stored files cannot find out anything in this way.
///
/// Asking blocks the calling thread, which must not be one of the client's loops. It uses a separate connection. No
/// connection is made if neither the folder nor one above it has the mark of a server's directory.
final class ServerPlaces: Sendable {
    /// The place of a folder in the tree that the server shows to the client.
    enum Place: Equatable {
        case elsewhere
        /// The folder is in that tree, at this path; the path is empty for the top.
        case stored(String)
        /// The folder contains the server's whole tree.
        case above
        /// The server could not be asked.
        case unknown(String)
    }

    private struct Answer: Sendable {
        var results: [PathKey: ResultCode] = [:]
        /// The identity of the server's directory, from `welcome`.
        var directory: [UInt8]?
        var failure: TransferFailure?
    }

    private let context: RequestContext
    private let known: KnownPlaces

    /// Seconds for which a lost connection is retried.
    private static let patience = 10.0

    /// The most components at the end of a path that are tried as the path on the server.
    private static let mostComponents = 64

    private let key: WitnessKey

    init(_ context: RequestContext, _ known: KnownPlaces, _ key: WitnessKey) {
        (self.context, self.known, self.key) = (context, known, key)
    }

    /// Whether a folder is the directory of any server, or is in one.
    ///
    /// - Parameter folder: a local path.
    static func mayBeStored(_ folder: String) -> Bool {
        guard let real = realPath(folder) else { return false }
        var path = real[...]
        while true {
            if let directory = try? SourceDirectory(path.isEmpty ? "/" : String(path)), isServers(directory) {
                return true
            }
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
            path = path[..<slash]
        }
    }

    /// Whether a folder has the mark of a server's directory: a catalog, or a folder for it that other users may not
    /// read. A directory that a client has pulled to has no catalog.
    static func isServers(_ folder: SourceDirectory) -> Bool {
        let own = RelativePath.reservedName
        guard let status = try? folder.status(own), status.st_mode & S_IFMT == S_IFDIR else { return false }
        return marks.contains { mark in
            do throws(SystemError) {
                _ = try folder.status("\(own)/\(mark)")
                return true
            } catch {
                return error.errno == EACCES
            }
        }
    }

    /// The file name of a catalog (`Catalog.fileName`), and the file that says that the catalog is in another folder
    /// (`StateFolder`).
    private static let marks = ["catalog.sqlite", "state"]

    /// The reason why a folder is not sent: the server's folder is in it. Nil if it may be sent.
    func refusal(ofSource folder: String) -> Failure? {
        guard Self.mayBeStored(folder), let directory = try? SourceDirectory(folder) else { return nil }
        return refusal(ofSource: directory, at: folder)
    }

    /// The same for a folder that has the mark of a server's directory, or is in one.
    ///
    /// - Parameter path: the path under which the folder was found.
    func refusal(ofSource folder: SourceDirectory, at path: String) -> Failure? {
        switch place(of: folder, at: path) {
        case .elsewhere: nil
        case .above: .servers
        case .stored(let place): Self.holds(place, context.server.folder) ? .servers : nil
        case .unknown(let reason): .perhapsServers(reason)
        }
    }

    /// The path on the server of a local folder that is pulled to, whether it exists yet or not; nil if it is not in
    /// the server's tree.
    func path(ofTarget folder: String) -> String? {
        var (present, missing) = (folder.absolutePath, [Substring]())
        while access(present, F_OK) != 0, let slash = present.utf8.lastIndex(of: UInt8(ascii: "/")) {
            missing.insert(present[present.utf8.index(after: slash)...], at: 0)
            present = String(present[..<slash])
        }
        guard Self.mayBeStored(present) else { return nil }
        return switch place(of: present) {
        case .stored(let path): ([path[...]] + missing).filter { !$0.isEmpty }.joined(separator: "/")
        case .above where missing.isEmpty: ""
        case .above, .elsewhere, .unknown: nil
        }
    }

    /// The place of a folder in the server's tree.
    func place(of folder: String) -> Place {
        guard let directory = try? SourceDirectory(folder) else { return .elsewhere }
        return place(of: directory, at: folder)
    }

    private func place(of directory: SourceDirectory, at path: String) -> Place {
        guard let path = Self.realPath(path), let status = try? directory.status() else { return .elsewhere }
        let key = KnownPlaces.Key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        if let found = known.places.withLock({ $0[key] }) { return found }
        let place = ask(about: path, directory, DirectoryIdentity.of(status))
        if case .unknown = place { return place }
        known.places.withLock { $0[key] = place }
        return place
    }

    /// Whether a path on the server is that of a folder, or below it.
    static func holds(_ folder: String, _ path: String) -> Bool {
        folder.isEmpty || path.hasSameBytes(as: folder) || path.utf8.starts(with: "\(folder)/".utf8)
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        let text = String(cString: real)
        return text == "/" ? "" : text
    }

    // MARK: Asking

    private func ask(about path: String, _ directory: SourceDirectory, _ identity: [UInt8]?) -> Place {
        let modified = directory.modified
        let witness = try? SourceWitness(beside: "", in: directory, isFile: false, key)
        let marked = directory.modified
        defer {
            if let witness {
                let isUnchanged = directory.modified == marked
                try? witness.remove()
                if isUnchanged, let modified { directory.set(modified: modified) }
            }
        }
        let parts = path.split(separator: "/").suffix(Self.mostComponents)
        // The folder's path on the server can be any number of components from the end of the local path.
        let places = (0...parts.count).map { parts.suffix($0).joined(separator: "/") }
        let asked = witness.map { witness in places.map { $0.isEmpty ? witness.name : "\($0)/\(witness.name)" } } ?? []
        let answer = stat(asked.filter { (try? RelativePath($0)) != nil })
        // An older server does not support this question, which then counts as not seeing the witness.
        if let failure = answer.failure, failure.reason != .unsupported { return .unknown(failure.message) }
        let found = zip(places, asked).first { answer.results[PathKey($1)] == .completed }
        if let found { return .stored(found.0) }
        // A client that sees only a part of the tree, or may only send, does not see the witness.
        return identity != nil && answer.directory == identity ? .above : .elsewhere
    }

    /// Asks the server about paths from the top of the tree.
    private func stat(_ paths: [String]) -> Answer {
        // The client's own threads and buffers may all be waiting for this answer.
        let pool = BlockingPool(name: "transfer-place", threads: 1)
        defer { pool.close() }
        let own = RequestContext(
            server: context.server, configuration: context.trying(for: Self.patience).configuration,
            loops: context.loops, pool: pool, buffers: BufferPool(size: OutgoingChunk.capacity, count: 2),
            security: context.security)
        let monitor = Monitor<Answer?>(nil)
        Task(executorPreference: own.loop) {
            let answer = await Self.ask(own, paths)
            monitor.withLock { monitor.state = answer }
            monitor.wakeAll()
        }
        monitor.lock()
        defer { monitor.unlock() }
        while true {
            if let answer = monitor.state { return answer }
            monitor.wait()
        }
    }

    private static func ask(_ context: RequestContext, _ paths: [String]) async -> Answer {
        let (queue, events) = (RequestQueue(), EventQueue<StatReport>())
        for path in paths { queue.add(StatTaker(path, remote: path, queue, events).asked) }
        events.finish(await RequestRun(context, queue).run())
        var answer = Answer()
        do throws(TransferFailure) {
            while let report = try await events.next() { answer.results[PathKey(report.path)] = report.result }
        } catch {
            answer.failure = error
        }
        answer.directory = queue.welcome?.directory
        return answer
    }
}

/// What a client has found out about local folders, so that it asks once for each.
final class KnownPlaces: Sendable {
    struct Key: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    let places = Locked<[Key: ServerPlaces.Place]>([:])
}

extension Failure {
    /// The failure for a folder that contains the server's own folder.
    static let servers = Failure(
        .sourceSkipped, "The server stores in it, so its files would be sent and stored again.")

    /// The failure for the folder on the server that is being pulled to.
    static let target = Failure(
        .sourceSkipped, "It is the directory that the files are pulled to.")

    static func perhapsServers(_ reason: String) -> Failure {
        Failure(
            .sourceUnreadable,
            "It is the directory of a server, perhaps of this one, which could not be asked: \(reason)"
        )
    }
}
