package import TransferModel

/// What the catalog has to change in its entries after this server has moved, linked or replaced files, or changed
/// their attributes.
package struct KnownChanges: Equatable, Sendable {
    /// A path whose file was replaced, and when; UTC, in nanoseconds since 1970. Entries that were acknowledged later
    /// stay.
    package struct Replaced: Equatable, Sendable {
        package let path: String

        /// The object that has the path now, whose entries stay; nil if no file has the path.
        package let object: UInt64?
        package let moment: Int64

        package init(_ path: String, by object: UInt64? = nil, at moment: Int64) {
            (self.path, self.object, self.moment) = (path, object, moment)
        }
    }

    /// Replaced files that are kept in the trash. Applied before all other changes, so that the entries of these files
    /// move with them.
    package var kept: [PathMove] = []

    /// Paths that lose all earlier entries.
    package var replaced: [Replaced] = []
    package var links: [PathLink] = []

    /// Entries of a file, or of all files in a folder, get the new path. They also get ids that no client has: a
    /// repeated upload must be stored under its own path, and not be acknowledged for a file that is elsewhere now.
    package var moves: [PathMove] = []

    /// Uses the paths that the files have after the moves.
    package var versions: [VersionChange] = []

    /// Names that a power cut has brought back, after an earlier look had found the file only under its other name.
    /// Applied after all others, so that existing entries of the name stay as they are.
    package var returned: [PathLink] = []

    package init() {}

    package var isEmpty: Bool {
        kept.isEmpty && replaced.isEmpty && links.isEmpty && moves.isEmpty && versions.isEmpty && returned.isEmpty
    }

    /// The changes for a replaced file that is kept in the trash.
    ///
    /// - Parameter path: the path of the file before.
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

    /// The moves of folders among the moves.
    package var folders: [PathMove] { moves.filter { $0.object == nil } }

    package mutating func add(_ other: KnownChanges) {
        kept += other.kept
        replaced += other.replaced
        links += other.links
        moves += other.moves
        versions += other.versions
        returned += other.returned
    }

    /// Paths whose earlier entries are outdated by these changes.
    package var paths: Set<PathKey> {
        var paths: Set<PathKey> = []
        for move in kept + moves { paths.formUnion([PathKey(move.path), PathKey(move.target)]) }
        for link in links + returned { paths.insert(PathKey(link.target)) }
        for version in versions { paths.insert(PathKey(version.path)) }
        for replaced in replaced { paths.insert(PathKey(replaced.path)) }
        return paths
    }
}

/// The new version of a file that this server has changed without changing its content.
package struct VersionChange: Equatable, Sendable {
    /// The path of the file now.
    package let path: String
    package let before: ContentVersion
    package let after: ContentVersion

    package init(path: String, before: ContentVersion, after: ContentVersion) {
        (self.path, self.before, self.after) = (path, before, after)
    }
}

/// A file or folder that has another path.
package struct PathMove: Equatable, Sendable {
    package let path: String
    package let target: String

    /// The object that was moved; nil for a folder, with which everything in it was moved.
    package let object: UInt64?

    /// `ContentVersion.revision` of the file before it was moved; nil if unknown. A mark of rot with another revision
    /// describes content that the file no longer has.
    package let revision: Int64?

    /// When it was moved; UTC, in nanoseconds since 1970. Entries under the path that were acknowledged later concern
    /// another file, unless they have this object.
    package let moment: Int64

    /// The move, limited to entries of this object. When a file is replaced, entries of the file that takes its path
    /// may exist already, and stay.
    package var alone: PathMove { PathMove(path, to: target, object: object, revision: revision, at: .min) }

    /// Whether only entries of this object are moved.
    package var isAlone: Bool { moment == .min }

    package init(_ path: String, to target: String, object: UInt64? = nil, revision: Int64? = nil, at moment: Int64) {
        (self.path, self.target, self.object, self.revision, self.moment) = (path, target, object, revision, moment)
    }
}

/// A file that has one more name, for which its acknowledgements hold as well.
package struct PathLink: Equatable, Sendable {
    package let path: String
    package let target: String

    /// The version that was acknowledged, and the current one.
    package let before: ContentVersion
    package let after: ContentVersion

    /// When the name was made; UTC, in nanoseconds since 1970.
    package let moment: Int64

    package init(_ path: String, as target: String, before: ContentVersion, after: ContentVersion, at moment: Int64) {
        (self.path, self.target, self.before, self.after, self.moment) = (path, target, before, after, moment)
    }
}
