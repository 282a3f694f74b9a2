import TransferModel
import TransferPorts
import TransferSystem

/// A change that is about to be made, with what the catalog has to record of it.
struct ChangePlan {
    /// The index among the requested changes.
    let index: Int
    let planned: PlannedChange

    /// What the catalog has to record of the replaced file; nil if no file is replaced, or if it is not kept.
    let keeping: IntendedChange?

    /// What the catalog has to record of the change; nil if the change affects nothing that the catalog can know.
    let intended: IntendedChange?

    /// - Parameters:
    ///   - trashed: the path in the trash for something that is discarded.
    ///   - batch: the trash batch that keeps replaced files; nil if they are not kept.
    ///   - moment: the current time; UTC, in nanoseconds since 1970.
    /// - Throws: if the objects at the paths of the change do not allow it.
    init(
        _ index: Int, _ change: TreeChange, trashed: RelativePath?, keepingIn batch: TrashBatch? = nil,
        at moment: Int64, in store: any StoredTree
    ) throws(Failure) {
        self.index = index
        let compared = try change.version.flatMap { (version) throws(Failure) in
            try Self.compare(change, version, in: store)
        }
        let source = try change.source.map { (path) throws(Failure) in try Self.find(path, in: store) }
        let place = try batch.flatMap { (batch) throws(Failure) in
            try change.replaced(by: source, in: store).map { TrashPlace($0, in: batch) }
        }
        planned = PlannedChange(
            change, trashed: trashed, compared: compared, expected: source?.version, place: place)
        keeping = try place.flatMap { (place) throws(Failure) in
            try Self.keeping(place, source, at: moment, in: store)
        }
        intended =
            switch change {
            case .folder(let path, let replaces, _, _), .link(let path, _, let replaces, _, _):
                replaces ? try Self.replacement(of: path, at: moment, in: store) : nil
            case .hardLink(let path, let name, _, let attributes, _):
                try Self.link(path, to: name, source, attributes, at: moment, in: store)
            case .set(let path, let attributes, _): Self.set(path, source, attributes, at: moment)
            case .move(let path, let target, let replaces, _):
                try Self.move(path, source, to: target, replaces: replaces, at: moment, in: store)
            case .discard(let path, let isRecursive, _):
                try Self.discard(path, source, to: trashed, isRecursive: isRecursive, at: moment, in: store)
            }
    }

    private static func find(_ path: RelativePath, in store: any StoredTree) throws(Failure) -> FoundObject {
        guard let found = try store.object(at: path) else { throw .notFound(path) }
        return found
    }

    /// - Returns: nil if the path already has what the change would make there, so that a client can repeat the change.
    private static func compare(
        _ change: TreeChange, _ version: FileVersion, in store: any StoredTree
    ) throws(Failure) -> ComparedFile? {
        guard let found = try store.object(at: change.path) else {
            guard change.makesName else { throw .notFound(change.path) }
            return ComparedFile.nothing
        }
        if try isMade(change, found, in: store) {
            return change.makesName ? nil : ComparedFile(found.version, tolerating: .names)
        }
        guard found.form != .folder, found.version.told == version else { throw .otherVersion(change.path) }
        return ComparedFile(found.version, tolerating: .names)
    }

    private static func isMade(
        _ change: TreeChange, _ found: FoundObject, in store: any StoredTree
    ) throws(Failure) -> Bool {
        switch change {
        case .folder: return found.form == .folder
        case .link(let path, let target, _, _, _):
            guard found.form == .link else { return false }
            return try store.whole(at: path).target == target
        case .hardLink(_, let source, _, _, _):
            return try store.object(at: source)?.version.object == found.version.object
        // The time of modification is part of the version.
        case .set(_, let attributes, _): return found.form != .folder && attributes.revision == found.version.revision
        case .move, .discard: return false
        }
    }

    /// For the catalog, a replaced file that is kept is moved to the trash.
    private static func keeping(
        _ place: TrashPlace, _ source: FoundObject?, at moment: Int64, in store: any StoredTree
    ) throws(Failure) -> IntendedChange? {
        guard let found = try store.object(at: place.path), found.form == .file,
            source.map(\.version.object) != found.version.object
        else { return nil }
        return IntendedChange(
            .keep, place.path.string, to: place.target.string, before: found.version, at: moment)
    }

    private static func replacement(
        of path: RelativePath, at moment: Int64, in store: any StoredTree
    ) throws(Failure) -> IntendedChange? {
        guard let found = try store.object(at: path), found.form == .file else { return nil }
        return IntendedChange(.replacement, path.string, before: found.version, at: moment)
    }

    private static func link(
        _ path: RelativePath, to source: RelativePath, _ found: FoundObject?, _ attributes: TreeChange.Attributes?,
        at moment: Int64, in store: any StoredTree
    ) throws(Failure) -> IntendedChange {
        guard let found, found.form == .file else {
            throw Failure(.wrongForm, "\(source) is not a file, so it cannot be hard-linked.")
        }
        let isThere = try store.object(at: path)?.version.object == found.version.object
        return IntendedChange(
            isThere ? .attributes : .link, isThere ? path.string : source.string, to: path.string,
            before: found.version,
            revision: attributes?.revision, at: moment)
    }

    private static func set(
        _ path: RelativePath, _ found: FoundObject?, _ attributes: TreeChange.Attributes, at moment: Int64
    ) -> IntendedChange? {
        guard let found, found.form == .file else { return nil }
        return IntendedChange(
            .attributes, path.string, before: found.version, revision: attributes.revision, at: moment)
    }

    private static func move(
        _ path: RelativePath, _ found: FoundObject?, to target: RelativePath, replaces: Bool, at moment: Int64,
        in store: any StoredTree
    ) throws(Failure) -> IntendedChange? {
        // A move to the same path changes nothing.
        guard let found, path != target else { return nil }
        switch found.form {
        case .file: return IntendedChange(.move, path.string, to: target.string, before: found.version, at: moment)
        case .folder: return IntendedChange(.folder, path.string, to: target.string, before: found.version, at: moment)
        case .link: return replaces ? try replacement(of: target, at: moment, in: store) : nil
        }
    }

    private static func discard(
        _ path: RelativePath, _ found: FoundObject?, to target: RelativePath?, isRecursive: Bool, at moment: Int64,
        in store: any StoredTree
    ) throws(Failure) -> IntendedChange? {
        guard let target else { return nil }
        guard found?.form != .folder || isRecursive else {
            throw Failure(.wrongForm, "\(path) is a folder: it can only be removed together with its content.")
        }
        return try move(path, found, to: target, replaces: false, at: moment, in: store)
    }
}

extension TreeChange.Attributes {
    /// The time of modification, in the form of `ContentVersion.revision`.
    fileprivate var revision: Int64? {
        modified.map { $0.seconds &* 1_000_000_000 &+ Int64($0.nanoseconds) }
    }
}

extension TreeChange {
    /// Whether the change makes something new at its path, which can be free.
    fileprivate var makesName: Bool {
        switch self {
        case .folder, .link, .hardLink: true
        case .set, .move, .discard: false
        }
    }

    /// The path that the change moves, links, or gives other attributes; nil for a change that makes something new.
    fileprivate var source: RelativePath? {
        switch self {
        case .folder, .link: nil
        case .hardLink(_, let source, _, _, _): source
        case .set(let path, _, _), .discard(let path, _, _), .move(let path, _, _, _): path
        }
    }

    /// Paths that are looked up before the change is made. Earlier changes of the same batch must not affect them.
    var looked: [RelativePath] {
        switch self {
        case .folder(let path, let replaces, _, _), .link(let path, _, let replaces, _, _): replaces ? [path] : []
        case .hardLink(let path, let source, _, _, _): [path, source]
        case .set(let path, _, _), .discard(let path, _, _): [path]
        case .move(let path, let target, let replaces, _): replaces ? [path, target] : [path]
        }
    }

    /// The path at which the change replaces something. Nil also if the file at the path is the source itself under
    /// another name: in that case nothing is replaced, and a second name in the trash would change the file's version.
    ///
    /// - Parameter source: the object that gets the path.
    fileprivate func replaced(by source: FoundObject?, in store: any StoredTree) throws(Failure) -> RelativePath? {
        guard let path = replaced, let source else { return replaced }
        return try store.object(at: path)?.version.object == source.version.object ? nil : path
    }

    /// The path at which the change may replace something; nil if it replaces nothing.
    var replaced: RelativePath? {
        switch self {
        case .folder(let path, true, _, _), .link(let path, _, true, _, _), .hardLink(let path, _, true, _, _): path
        case .move(let path, let target, true, _): path == target ? nil : target
        case .folder, .link, .hardLink, .move, .set, .discard: nil
        }
    }

    /// Paths that the change affects, including those in the trash.
    ///
    /// - Parameters:
    ///   - trashed: the path in the trash for something that is discarded.
    ///   - batch: the trash batch that keeps replaced files; nil if they are not kept.
    func touched(_ trashed: RelativePath?, keepingIn batch: TrashBatch?) -> [RelativePath] {
        let places = batch.flatMap { batch in replaced.map { [RelativePath.trash(batch, $0)] } } ?? []
        return touched(trashed) + places
    }

    private func touched(_ trashed: RelativePath?) -> [RelativePath] {
        switch self {
        case .folder(let path, _, _, _), .link(let path, _, _, _, _), .set(let path, _, _): [path]
        case .hardLink(let path, let source, _, _, _): [path, source]
        case .move(let path, let target, _, _): [path, target]
        case .discard(let path, _, _): [path] + [trashed].compactMap(\.self)
        }
    }
}

/// A set of paths that can tell whether another path is in the set, or above or below a path of the set.
struct TouchedPaths: Sendable {
    private var paths: Set<RelativePath> = []
    private var above: Set<RelativePath> = []

    mutating func insert(_ path: RelativePath) {
        guard paths.insert(path).inserted else { return }
        var next = path.parent
        while let folder = next, above.insert(folder).inserted { next = folder.parent }
    }

    /// Whether the path is in the set.
    func contains(_ path: RelativePath) -> Bool { paths.contains(path) }

    /// Whether the path is in the set, or below a path of the set.
    func hold(_ path: RelativePath) -> Bool {
        var next: RelativePath? = path
        while let folder = next {
            if paths.contains(folder) { return true }
            next = folder.parent
        }
        return false
    }

    /// Whether the path is in the set, or above or below a path of the set.
    func meet(_ path: RelativePath) -> Bool {
        above.contains(path) || hold(path)
    }
}

/// Paths that any connection is changing now. If two connections changed the same file at once, the catalog could
/// record that in the wrong order.
final class ChangingPaths: Sendable {
    private struct State {
        var next = 0
        var batches: [Int: TouchedPaths] = [:]
    }

    private let state = Locked(State())

    /// - Returns: a number for the batch.
    func begin() -> Int {
        state.withLock { state in
            state.next &+= 1
            state.batches[state.next] = TouchedPaths()
            return state.next
        }
    }

    func end(_ batch: Int) { state.withLock { $0.batches[batch] = nil } }

    /// Whether a path, or a folder above it, is being changed.
    func hold(_ path: RelativePath) -> Bool {
        state.withLock { state in state.batches.values.contains { $0.hold(path) } }
    }

    /// Adds paths to a batch, unless another batch has them.
    func take(_ paths: [RelativePath], for batch: Int) -> Bool {
        state.withLock { state in
            let others = state.batches.lazy.filter { $0.key != batch }.map(\.value)
            guard !others.contains(where: { other in paths.contains(where: other.meet) }) else { return false }
            for path in paths { state.batches[batch]?.insert(path) }
            return true
        }
    }
}
