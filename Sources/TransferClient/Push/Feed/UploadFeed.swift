internal import CLinux
import Glibc
import TransferModel
import TransferProtocol
import TransferSystem

/// Hands out the uploads of a push: first those that must be sent again, then the caller's. It walks a directory when
/// the turn of that directory has come. Called on the pool, because reading directories can block.
final class UploadFeed: Sendable {
    /// The next item of a push.
    enum Item {
        case upload(PendingUpload)
        /// A source that is not sent, with the reason.
        case report(UploadReport)
    }

    private struct State {
        // Called only under the lock.
        nonisolated(unsafe) let next: () -> Upload?
        var walk: DirectoryWalk?
        var walkKind: ContentKind?
        var walkIsRepeated = false
        /// The files and folders that were left out, except those of the current walk.
        var leftOut = LeftOut()
        var random = SecureRandom()
        /// The sources named so far: a source that is named twice becomes two uploads.
        var named: Set<PathDigest> = []
        /// The destinations so far, kept if stored files are replaced: no upload of a push may replace another one of
        /// the same push.
        var destinations: Set<PathDigest> = []
        /// The number of sources named so far.
        var opened = 0
    }

    private struct Returned {
        /// Uploads to send again; the last element is handed out next.
        var uploads: [PendingUpload] = []
        /// Uploads whose parts come before anything new.
        var splits: [any UploadInParts] = []
        /// Folders whose files are handed out one by one, each with the index of the next file; the last folder comes
        /// first.
        var folders: [(folder: SourceFolder, next: Int)] = []
        /// How the lanes share long files.
        var sharing = PartSharing()

        mutating func next(onlyUnderWay: Bool) -> PendingUpload? {
            if let upload = onlyUnderWay ? takeUnderWay() : uploads.popLast() { return upload }
            splits.removeAll { !$0.hasMoreParts }
            for split in splits {
                if let part = split.nextPart(sharing) { return part }
            }
            return onlyUnderWay ? nil : nextOfFolders()
        }

        /// The next file of the folders that were put back.
        mutating func nextOfFolders() -> PendingUpload? {
            while let last = folders.indices.last {
                if let upload = folders[last].folder.takeNext(&folders[last].next) { return upload }
                folders.removeLast()
            }
            return nil
        }

        private mutating func takeUnderWay() -> PendingUpload? {
            uploads.lastIndex(where: \.isUnderWay).map { uploads.remove(at: $0) }
        }
    }

    private let folder: String
    private let selection: Selection
    private let rules: PathRules
    /// The key of the temporary names that removals give; nil if files that a killed removal has left do not get their
    /// names back.
    private let sweeps: WitnessKey?
    /// Whether stored files are replaced.
    private let replaces: Bool
    /// Recognizes folders that the server stores in, which are not sent.
    private let places: ServerPlaces?
    /// Takes note of folders, links and further names of files; nil to send only files.
    private let archive: ArchiveNotes?
    private let state: Locked<State>
    /// Has a separate lock: the loop puts uploads back, and must not wait for a caller's sequence or a slow
    /// directory.
    private let returned = Locked(Returned())
    private let refused = Locked<Failure?>(nil)

    /// - Parameters:
    ///   - folder: the folder in front of every path; may be empty.
    ///   - selection: which files are handed out.
    ///   - sweeps: the key of the temporary names that removals give, if files that a killed removal left some time ago
    ///     get their names back; otherwise nil.
    ///   - replaces: whether stored files are replaced.
    ///   - places: recognizes folders that the server stores in; nil if there can be none.
    ///   - archive: takes note of folders, links and further names of files; nil to send only files.
    init(
        _ uploads: some Sequence<Upload> & Sendable, folder: String, selection: Selection = Selection(),
        sweeps: WitnessKey? = nil, replaces: Bool = false, places: ServerPlaces? = nil, archive: ArchiveNotes? = nil
    ) {
        self.replaces = replaces
        self.places = places
        self.sweeps = sweeps
        self.folder = folder
        self.selection = selection
        self.archive = archive
        rules = PathRules(selection)
        nonisolated(unsafe) var iterator = uploads.makeIterator()
        state = Locked(State(next: { iterator.next() }))
    }

    /// - Parameter onlyUnderWay: whether to hand out only parts and ends of uploads that have begun.
    func next(onlyUnderWay: Bool = false) -> Item? {
        if let upload = returned.withLock({ $0.next(onlyUnderWay: onlyUnderWay) }) { return .upload(upload) }
        guard !onlyUnderWay else { return nil }
        return state.withLock { state in
            while true {
                if let found = state.walk?.next() {
                    guard let item = item(found, &state) else { continue }
                    return item
                }
                if let walk = state.walk { state.leftOut = state.leftOut + walk.leftOut }
                state.walk = nil
                guard let upload = state.next() else { return nil }
                state.opened += 1
                if let item = open(upload, &state) { return item }
            }
        }
    }

    /// The files and folders that the selection has left out so far.
    var leftOut: LeftOut { state.withLock { $0.leftOut + ($0.walk?.leftOut ?? LeftOut()) } }

    /// Whether uploads were put back, which are handed out before anything new.
    var hasReturned: Bool {
        returned.withLock { !$0.uploads.isEmpty || !$0.splits.isEmpty || !$0.folders.isEmpty }
    }

    /// Takes the files of a whole directory, if they come next and one question may ask about all of them; otherwise
    /// nil.
    func nextFolder() -> SourceFolder? {
        state.withLock { state in
            // If another file of the push can have the same destination, each file must be checked separately.
            guard !state.walkIsRepeated, !replaces || state.opened < 2 else { return nil }
            let files = state.walk?.nextFiles(atLeast: SourceFolder.fewest) { try? RelativePath(destination($0)) }
            return files.map { files in
                let destination = destination(files.relative)
                for name in replaces ? files.names : [] {
                    state.destinations.insert(PathDigest("\(destination)/\(name)"))
                }
                return SourceFolder(
                    files.place, destination: destination, kind: state.walkKind, names: files.names)
            }
        }
    }

    /// Takes back a folder whose files must be handed out one by one.
    func putBack(_ folder: SourceFolder) {
        returned.withLock { $0.folders.append((folder, 0)) }
    }

    /// The failure with which the server would refuse every further upload; nil if it has refused none.
    var refusal: Failure? { refused.withLock { $0 } }

    /// Notes that the server has refused an upload to recipients. All uploads of a push have the same recipients, so it
    /// would refuse the others as well.
    func refuse(_ result: UploadResult) {
        guard result.code == .unknownRecipient || result.code == .forbidden else { return }
        refused.withLock { $0 = Failure(result.code, result.message) }
    }

    /// Takes back uploads that must be sent again; they come first, in this order.
    func putBack(_ uploads: [PendingUpload]) {
        returned.withLock { $0.uploads.append(contentsOf: uploads.reversed()) }
    }

    func share(_ sharing: PartSharing) {
        returned.withLock { $0.sharing = sharing }
    }

    /// Whether a file of that size is sent in parts.
    func splits(fileOf size: UInt64) -> Bool {
        size >= PartSharing.smallestFile && returned.withLock { $0.sharing.splits(fileOf: size) }
    }

    /// Hands out the parts of an upload from now on.
    func add(_ split: any UploadInParts) {
        returned.withLock { returned in
            if !returned.splits.contains(where: { $0 === split }) { returned.splits.append(split) }
        }
    }

    /// After a lost connection, puts uploads in parts back, so that the server is asked again what it has of them.
    func askAgain() {
        returned.withLock { returned in
            var splits: [any UploadInParts] = []
            for split in returned.uploads.reversed().compactMap(\.split) + returned.splits
            where !split.isOver && !splits.contains(where: { $0 === split }) {
                split.restart()
                split.whole.asked = split
                splits.append(split)
            }
            returned.uploads.removeAll { $0.split != nil }
            returned.uploads.append(contentsOf: splits.reversed().map(\.whole))
            returned.splits = []
        }
    }

    /// Takes the next file of the folders that were put back.
    func takeNextOfFolders() -> PendingUpload? {
        returned.withLock { $0.nextOfFolders() }
    }

    /// Takes the uploads that were put back one by one.
    func takeReturned() -> [PendingUpload] {
        returned.withLock { returned in
            defer { returned.uploads = [] }
            return returned.uploads.reversed()
        }
    }

    private func open(_ upload: Upload, _ state: inout State) -> Item? {
        switch upload.source {
        case .bytes(let bytes): return named(.bytes(bytes), upload, &state)
        case .stream(let stream): return named(.stream(BlockStream(stream)), upload, &state)
        case .path(let path):
            let place = upload.place ?? SourcePlace(named: path, followsLink: archive == nil)
            let name = upload.name ?? Self.lastComponent(path)
            let status: stat
            do throws(SystemError) {
                status = try place.status()
            } catch {
                return refused(path, name, .unreadable(error))
            }
            let isRepeated = !state.named.insert(PathDigest(path.absolutePath + "\0" + name)).inserted
            switch FileType(mode: status.st_mode) {
            case .regular:
                guard selection.accepts(status), rules.send(Self.lastPart(path)) else {
                    state.leftOut.files += 1
                    return nil
                }
                if let archive, archive.takesName(status, place, name, isNamed: true) { return nil }
                let item = pending(
                    .file(place), path, name, upload.kind, isRepeated: isRepeated, &state)
                if case .upload(let pending) = item {
                    (pending.expected, pending.replaceable) = (upload.expected, upload.replaceable)
                }
                return item
            case .directory:
                if let failure = places?.refusal(ofSource: path) { return refused(path, name, failure) }
                state.walkIsRepeated = isRepeated
                do throws(SystemError) {
                    state.walk = walk(SourcePlace(try SourceRoot(Self.withoutSlashes(path))), name)
                } catch {
                    return refused(path, name, .unreadable(error))
                }
                state.walkKind = upload.kind
                return nil
            case .symbolicLink where archive != nil:
                guard rules.send(Self.lastPart(path)) else {
                    state.leftOut.files += 1
                    return nil
                }
                return link(place, name, isNamed: true)
            case let type: return refused(path, name, .special(type.description))
            }
        }
    }

    private func named(_ content: PendingUpload.Content, _ upload: Upload, _ state: inout State) -> Item {
        let name = upload.name ?? ""
        return pending(content, name, name, upload.kind, &state)
    }

    private func walk(_ place: SourcePlace, _ relative: String) -> DirectoryWalk {
        let (filter, sweep) = (WalkFilter(selection), sweeps.map { WitnessSweep(key: $0) })
        guard let archive else {
            return DirectoryWalk(
                place, relative: relative, selection: selection, filter, sweep: sweep, places: places, visit: nil)
        }
        return DirectoryWalk(
            place, relative: relative, selection: selection, filter, findsLinks: true, sweep: sweep, places: places
        ) { directory, place, name, _ in
            archive.add(directory, at: place, name, isNamed: name.hasSameBytes(as: relative))
        }
    }

    /// - Returns: nil for an entry that the archive has noted for later.
    private func item(_ found: DirectoryWalk.Found, _ state: inout State) -> Item? {
        switch found {
        case .file(let place, let relative):
            var isRepeated = state.walkIsRepeated
            if let archive {
                if let status = try? place.status(), archive.takesName(status, place, relative) { return nil }
                // A file that the caller has also named becomes a second upload.
                isRepeated = isRepeated || state.named.contains(PathDigest(place.path.absolutePath + "\0" + relative))
            }
            return pending(
                .file(place), place.path, relative, state.walkKind, isRepeated: isRepeated, &state)
        case .link(let place, let relative): return link(place, relative)
        case .skipped(let path, let relative, let failure):
            return .report(.failed(path: path, to: destination(relative), failure))
        }
    }

    /// - Returns: nil for a link that can be sent, which happens later.
    private func link(_ place: SourcePlace, _ name: String, isNamed: Bool = false) -> Item? {
        do throws(Failure) {
            try archive?.add(link: place, name, isNamed: isNamed)
            return nil
        } catch {
            var report = UploadReport.failed(path: place.path, to: destination(name), error)
            (report.isNamed, report.form) = (isNamed, .link)
            return .report(report)
        }
    }

    /// The report on a named source that cannot be pushed.
    private func refused(_ path: String, _ name: String, _ failure: Failure) -> Item {
        var report = UploadReport.failed(path: path, to: destination(name), failure)
        report.isNamed = true
        return .report(report)
    }

    private func destination(_ name: String) -> String { folder.isEmpty ? name : "\(folder)/\(name)" }

    /// - Parameter isRepeated: whether the same file was named before; nil for content that is no file.
    private func pending(
        _ content: PendingUpload.Content, _ label: String, _ name: String, _ kind: ContentKind?,
        isRepeated: Bool? = nil, _ state: inout State
    ) -> Item {
        let destination = destination(name)
        do throws(Failure) {
            try check(destination, isRepeated: isRepeated ?? false, &state)
        } catch {
            var report = UploadReport.failed(label, error)
            if case .file = content { (report.isPath, report.destination) = (true, destination) }
            return .report(report)
        }
        let hasOwnID = isRepeated ?? true
        let id = hasOwnID ? UploadID.random(using: &state.random) : .none
        return .upload(
            PendingUpload(content, label: label, destination: destination, kind: kind, id: id, hasOwnID: hasOwnID))
    }

    /// - Throws: `invalidPath`, or `pathConflict` if the upload would replace another file of the same push.
    private func check(_ destination: String, isRepeated: Bool, _ state: inout State) throws(Failure) {
        do throws(RelativePath.Fault) {
            _ = try RelativePath(destination)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
        guard replaces, !state.destinations.insert(PathDigest(destination)).inserted, !isRepeated else { return }
        throw Failure(
            .pathConflict, "Another file of this push is stored under that name, and is not replaced.")
    }

    /// The name that a path gets on the server. For `.`, `..` and `/`, it is the name of the directory to which the
    /// path leads, or `root` for the root directory.
    static func lastComponent(_ path: String) -> String {
        let last = Self.lastPart(path)
        guard last.isEmpty || last == "." || last == ".." else { return last }
        guard let resolved = realpath(path, nil) else { return last }
        defer { free(resolved) }
        let name = Self.lastPart(String(cString: resolved))
        return name.isEmpty ? "root" : name
    }

    /// Splits by bytes, because a combining mark after a slash forms one character with it.
    private static func lastPart(_ path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
    }

    private static func withoutSlashes(_ path: String) -> String {
        var path = path
        while path.count > 1, path.last == "/" { path.removeLast() }
        return path
    }
}

extension UploadReport {
    /// The report on a source that was never sent.
    static func failed(_ source: String, _ failure: Failure) -> UploadReport {
        UploadReport(
            source: source, uploadID: .none, result: failure.code, kind: .file, size: 0, message: failure.message)
    }

    /// The report on a path that is not UTF-8, and so cannot be sent.
    package static func unusable(_ path: [UInt8]) -> UploadReport {
        let message =
            path.contains(0) ? "It contains a NUL byte, which no path can have." : "Its name is not UTF-8; rename it."
        return failed(
            String(decoding: path, as: UTF8.self), Failure(.sourceUnreadable, message))
    }

    /// The report on a source with a local path that was never sent.
    static func failed(path: String, to destination: String, _ failure: Failure) -> UploadReport {
        var report = failed(path, failure)
        report.destination = destination
        report.isPath = true
        return report
    }

    /// The report on an upload that ended without an answer of the server.
    static func failed(_ upload: PendingUpload, _ failure: Failure) -> UploadReport {
        var report = failed(upload.label, failure)
        report.uploadID = upload.id
        report.kind = upload.kind
        report.size = upload.size ?? 0
        if upload.started > 0 { report.seconds = Double(monotonicNanoseconds() - upload.started) / 1e9 }
        report.describe(upload)
        return report
    }
}
