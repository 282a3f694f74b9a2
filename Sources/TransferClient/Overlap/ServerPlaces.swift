internal import CLinux
import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Finds out whether a folder of this machine is one that the server stores in: a copy of that into itself would have no end.
///
/// A server on the same machine says which directory it stores in. Where a directory is mounted from elsewhere, a witness is put
/// into the folder for a moment, and the server is asked whether it sees it. A client that may not see what is stored learns
/// nothing then.
///
/// Asking blocks the calling thread, which must not be one of the client's loops. It takes a connection of its own, and none
/// where no folder has the mark of a server's directory in it or above it.
final class ServerPlaces: Sendable {
    /// Where a folder is in the tree of the server that the client sees.
    enum Place: Equatable {
        case elsewhere
        /// It is below the top of that tree, or the top itself, whose path is empty.
        case stored(String)
        /// It has the server's whole tree in it.
        case above
        /// The server could not be asked.
        case unknown(String)
    }

    private struct Answer: Sendable {
        var results: [PathKey: ResultCode] = [:]
        /// As the server said it in its welcome.
        var directory: [UInt8]?
        var failure: TransferFailure?
    }

    private let context: RequestContext
    private let known: KnownPlaces

    /// Seconds for which a lost connection is tried again.
    private static let patience = 10.0

    /// Components of a path from the end that are tried as the path on the server.
    private static let mostComponents = 64

    private let key: WitnessKey

    init(_ context: RequestContext, _ known: KnownPlaces, _ key: WitnessKey) {
        (self.context, self.known, self.key) = (context, known, key)
    }

    /// Whether a folder is, or lies in, the directory of some server.
    ///
    /// - Parameter folder: of this machine.
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

    /// Whether a folder has the mark of a server's directory: a catalog, or a folder for it that nobody else may look into. A
    /// directory that a client has pulled to has no catalog.
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

    /// What a server calls its catalog (`Catalog.fileName`), and what says that the catalog is in another folder (`StateFolder`).
    private static let marks = ["catalog.sqlite", "state"]

    /// Why nothing of a folder is sent to the server's folder, if that is in it.
    func refusal(ofSource folder: String) -> Failure? {
        guard Self.mayBeStored(folder), let directory = try? SourceDirectory(folder) else { return nil }
        return refusal(ofSource: directory, at: folder)
    }

    /// The same for a folder that has the mark of a server's directory in it or above it.
    ///
    /// - Parameter path: that the folder has been found under.
    func refusal(ofSource folder: SourceDirectory, at path: String) -> Failure? {
        switch place(of: folder, at: path) {
        case .elsewhere: nil
        case .above: .servers
        case .stored(let place): Self.holds(place, context.server.folder) ? .servers : nil
        case .unknown(let reason): .perhapsServers(reason)
        }
    }

    /// The path on the server that a folder has which is pulled to, whether it is there yet or not; nil where it has none.
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

    /// Where a folder is in the server's tree.
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
        // The path of the folder on the server may be any end of its path here.
        let places = (0...parts.count).map { parts.suffix($0).joined(separator: "/") }
        let asked = witness.map { witness in places.map { $0.isEmpty ? witness.name : "\($0)/\(witness.name)" } } ?? []
        let answer = stat(asked.filter { (try? RelativePath($0)) != nil })
        // A server that answers no such questions is an old one.
        if let failure = answer.failure, failure.reason != .unsupported { return .unknown(failure.message) }
        let found = zip(places, asked).first { answer.results[PathKey($1)] == .completed }
        if let found { return .stored(found.0) }
        // A client that sees a part of the tree alone, or may only send, does not see the witness.
        return identity != nil && answer.directory == identity ? .above : .elsewhere
    }

    /// What the server says of some paths from the top of its tree.
    private func stat(_ paths: [String]) -> Answer {
        // The threads and buffers of the client may all wait for this.
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

/// What a client has found out about folders of this machine.
final class KnownPlaces: Sendable {
    struct Key: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    let places = Locked<[Key: ServerPlaces.Place]>([:])
}

extension Failure {
    /// For a folder that the server's own folder is in.
    static let servers = Failure(
        .sourceSkipped, "The server stores in it, and would store what it has stored again.")

    /// For a folder on the server that is the directory which is pulled to.
    static let target = Failure(
        .sourceSkipped, "It is the directory that is pulled to.")

    static func perhapsServers(_ reason: String) -> Failure {
        Failure(
            .sourceUnreadable,
            "It is the directory of a server, and may be that of this one, which could not be asked: \(reason)"
        )
    }
}
