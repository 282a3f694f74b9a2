package import TransferModel

/// What becomes of what is known of files that this server has moved, linked, replaced, or given other attributes.
package struct KnownChanges: Equatable, Sendable {
    /// A path whose file has given way, and when; UTC, in nanoseconds since 1970. What was acknowledged later stays.
    package struct Replaced: Equatable, Sendable {
        package let path: String

        /// What has the path now and stays known; nothing where no file has it.
        package let object: UInt64?
        package let moment: Int64

        package init(_ path: String, by object: UInt64? = nil, at moment: Int64) {
            (self.path, self.object, self.moment) = (path, object, moment)
        }
    }

    /// What has given way to something else and is in the trash: before anything else, so that it goes along.
    package var kept: [PathMove] = []

    /// Of these all goes that was known before.
    package var replaced: [Replaced] = []
    package var links: [PathLink] = []

    /// What is known of a file or of all in a folder is known of its new path. It gets ids that no client has: an upload that
    /// comes again is to be stored where it says, and not acknowledged for a file that is elsewhere now.
    package var moves: [PathMove] = []

    /// With the paths that files have when they are moved.
    package var versions: [VersionChange] = []

    package init() {}

    package var isEmpty: Bool {
        kept.isEmpty && replaced.isEmpty && links.isEmpty && moves.isEmpty && versions.isEmpty
    }

    /// What has given way to an upload is known where it is kept.
    ///
    /// - Parameter path: that it had.
    package init(_ kept: KeptFile, _ version: KeptFile.Versions, of path: String) {
        let (before, after) = (version.before, version.after)
        self.kept = [
            PathMove(
                path, to: kept.place.string, object: before.object, revision: before.revision, at: .min)
        ]
        // Another program may have written to the file meanwhile.
        guard after.hasSameContent(as: before), after != before else { return }
        versions = [VersionChange(path: kept.place.string, before: before, after: after)]
    }

    var folders: [PathMove] { moves.filter { $0.object == nil } }

    package mutating func add(_ other: KnownChanges) {
        kept += other.kept
        replaced += other.replaced
        links += other.links
        moves += other.moves
        versions += other.versions
    }

    /// Paths under which something else stands than what was acknowledged there.
    package var paths: Set<PathKey> {
        var paths: Set<PathKey> = []
        for move in kept + moves { paths.formUnion([PathKey(move.path), PathKey(move.target)]) }
        for link in links { paths.insert(PathKey(link.target)) }
        for version in versions { paths.insert(PathKey(version.path)) }
        for replaced in replaced { paths.insert(PathKey(replaced.path)) }
        return paths
    }
}

/// One of the changes of files, as the catalog makes them one after the other.
enum KnownChange {
    case forget(KnownChanges.Replaced)
    case link(PathLink)
    case move(PathMove)
    /// - Parameter after: the version behind all changes of the file.
    case restamp(VersionChange, after: ContentVersion)

    /// The paths whose rows it changes.
    var paths: [String] {
        switch self {
        case .forget(let replaced): [replaced.path]
        case .link(let link): [link.path]
        case .move(let move): [move.path, move.target]
        case .restamp(let change, _): [change.path]
        }
    }
}

extension KnownChanges {
    /// All but the moves of folders, in the order in which they are made.
    var ofFiles: [KnownChange] {
        // Several changes may be about one file, under one name or several.
        let last = Dictionary(versions.map { (FileNumber($0.after), $0.after) }) { $0.touch < $1.touch ? $1 : $0 }
        return kept.map { .move($0) } + replaced.map { .forget($0) } + links.map { .link($0) }
            + moves.filter { $0.object != nil }.map { .move($0) }
            + versions.map { .restamp($0, after: last[FileNumber($0.after)] ?? $0.after) }
    }
}

/// What tells a file from others in a batch of changes. Two disks may have one number; they hardly have one size as well.
private struct FileNumber: Hashable {
    let object: UInt64
    let size: UInt64

    init(_ version: ContentVersion) { (object, size) = (version.object, version.size) }
}

/// A file that this server has changed on purpose, but not its content: what it is known by from now on.
package struct VersionChange: Equatable, Sendable {
    /// Where it is now.
    package let path: String
    package let before: ContentVersion
    package let after: ContentVersion

    package init(path: String, before: ContentVersion, after: ContentVersion) {
        (self.path, self.before, self.after) = (path, before, after)
    }
}
