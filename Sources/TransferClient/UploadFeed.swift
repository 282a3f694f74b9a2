internal import CLinux
import Glibc
internal import Synchronization
import TransferProtocol
import TransferSystem

/// Hands out what is to be pushed, one upload after the other: first those that have to be sent again, then the next of
/// the caller's, directories opened up as they come. Called on the pool, because looking can block.
final class UploadFeed: Sendable {
    /// What comes next.
    enum Item {
        case upload(PendingUpload)
        /// Not sent, and why.
        case report(UploadReport)
    }

    private struct State {
        // Only called under the lock.
        nonisolated(unsafe) let next: () -> Upload?
        var walk: DirectoryWalk?
        var walkKind: ContentKind?
        var returned: [PendingUpload] = []
    }

    private let folder: String
    private let state: Mutex<State>

    /// - Parameter folder: put before every path; may be empty.
    init(_ uploads: some Sequence<Upload> & Sendable, folder: String) {
        self.folder = folder
        nonisolated(unsafe) var iterator = uploads.makeIterator()
        state = Mutex(State(next: { iterator.next() }))
    }

    func next() -> Item? {
        state.withLock { state in
            while true {
                if let upload = state.returned.popLast() { return .upload(upload) }
                if let found = state.walk?.next() { return item(found, kind: state.walkKind) }
                state.walk = nil
                guard let upload = state.next() else { return nil }
                if let item = open(upload, &state) { return item }
            }
        }
    }

    /// Takes back what has to be sent again; it comes first, in this order.
    func putBack(_ uploads: [PendingUpload]) {
        state.withLock { $0.returned.append(contentsOf: uploads.reversed()) }
    }

    private func open(_ upload: Upload, _ state: inout State) -> Item? {
        switch upload.source {
        case .bytes(let bytes): return named(.bytes(bytes), upload)
        case .stream(let stream): return named(.stream(ReplayableStream(stream)), upload)
        case .path(let path):
            var status = stat()
            guard stat(path, &status) == 0 else {
                return .report(.failed(path, .unreadable(SystemError(errno: errno, call: "stat"))))
            }
            let name = upload.name ?? Self.lastComponent(path)
            guard FileType(mode: status.st_mode) == .directory else {
                return pending(.file(path: path, followsLinks: true), path, name, upload.kind)
            }
            state.walk = DirectoryWalk(path: Self.withoutSlashes(path), relative: name)
            state.walkKind = upload.kind
            return nil
        }
    }

    private func named(_ content: PendingUpload.Content, _ upload: Upload) -> Item {
        let name = upload.name ?? ""
        return pending(content, name, name, upload.kind)
    }

    private func item(_ found: DirectoryWalk.Found, kind: ContentKind?) -> Item {
        switch found {
        case .file(let path, let relative): pending(.file(path: path, followsLinks: false), path, relative, kind)
        case .skipped(let path, let failure): .report(.failed(path, failure))
        }
    }

    private func pending(
        _ content: PendingUpload.Content, _ label: String, _ name: String, _ kind: ContentKind?
    ) -> Item {
        let destination = folder.isEmpty ? name : "\(folder)/\(name)"
        do throws(RelativePath.Fault) {
            _ = try RelativePath(destination)
        } catch {
            return .report(.failed(label, LocalFailure(code: .invalidPath, message: error.message)))
        }
        return .upload(PendingUpload(content, label: label, destination: destination, kind: kind))
    }

    /// What a path is called where it is stored. `.`, `..` and `/` have no name of their own: the directory they mean
    /// has, or the root, which is called so.
    static func lastComponent(_ path: String) -> String {
        let last = path.split(separator: "/").last.map(String.init) ?? ""
        guard last.isEmpty || last == "." || last == ".." else { return last }
        guard let resolved = realpath(path, nil) else { return last }
        defer { free(resolved) }
        return String(cString: resolved).split(separator: "/").last.map(String.init) ?? "root"
    }

    private static func withoutSlashes(_ path: String) -> String {
        var path = path
        while path.count > 1, path.last == "/" { path.removeLast() }
        return path
    }
}

extension UploadReport {
    /// For what was never sent.
    static func failed(_ source: String, _ failure: LocalFailure) -> UploadReport {
        UploadReport(
            source: source, uploadID: .none, result: failure.code, kind: .file, size: 0, message: failure.message)
    }

    /// For what came to an end without an answer of the server.
    static func failed(_ upload: PendingUpload, _ failure: LocalFailure) -> UploadReport {
        var report = failed(upload.label, failure)
        report.uploadID = upload.id
        report.kind = upload.kind
        report.size = upload.size ?? 0
        if upload.started > 0 { report.seconds = Double(monotonicNanoseconds() - upload.started) / 1e9 }
        return report
    }
}
