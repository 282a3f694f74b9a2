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

    /// Names that a power cut has brought back, after an earlier look had found the file under its other name alone: behind all else,
    /// so that what is known of the name already stays as it is.
    package var returned: [PathLink] = []

    package init() {}

    package var isEmpty: Bool {
        kept.isEmpty && replaced.isEmpty && links.isEmpty && moves.isEmpty && versions.isEmpty && returned.isEmpty
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

    /// Moves of folders.
    package var folders: [PathMove] { moves.filter { $0.object == nil } }

    package mutating func add(_ other: KnownChanges) {
        kept += other.kept
        replaced += other.replaced
        links += other.links
        moves += other.moves
        versions += other.versions
        returned += other.returned
    }

    /// Paths under which something else stands than what was acknowledged there.
    package var paths: Set<PathKey> {
        var paths: Set<PathKey> = []
        for move in kept + moves { paths.formUnion([PathKey(move.path), PathKey(move.target)]) }
        for link in links + returned { paths.insert(PathKey(link.target)) }
        for version in versions { paths.insert(PathKey(version.path)) }
        for replaced in replaced { paths.insert(PathKey(replaced.path)) }
        return paths
    }
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

/// A file or folder that has got another path.
package struct PathMove: Equatable, Sendable {
    package let path: String
    package let target: String

    /// Which file was moved; nothing for a folder, in which all has moved as well.
    package let object: UInt64?

    /// `ContentVersion.revision` of the file before it was moved; nil if unknown. A mark of rot with another revision describes content
    /// that the file no longer has.
    package let revision: Int64?

    /// When it was moved; UTC, in nanoseconds since 1970. What was acknowledged under the path later is about another file, unless
    /// it says that it is about this one.
    package let moment: Int64

    /// The same, where nothing but what says that it is about this file goes along: what has given way leaves behind what is known of the
    /// file that takes its path, which may have been there before.
    package var alone: PathMove { PathMove(path, to: target, object: object, revision: revision, at: .min) }

    /// Whether nothing but what says that it is about this file goes along.
    package var isAlone: Bool { moment == .min }

    package init(_ path: String, to target: String, object: UInt64? = nil, revision: Int64? = nil, at moment: Int64) {
        (self.path, self.target, self.object, self.revision, self.moment) = (path, target, object, revision, moment)
    }
}

/// A file that has got one more name: what was acknowledged of its content holds for that, too.
package struct PathLink: Equatable, Sendable {
    package let path: String
    package let target: String

    /// The file as it was acknowledged, and as it is.
    package let before: ContentVersion
    package let after: ContentVersion

    /// When it was made; UTC, in nanoseconds since 1970.
    package let moment: Int64

    package init(_ path: String, as target: String, before: ContentVersion, after: ContentVersion, at moment: Int64) {
        (self.path, self.target, self.before, self.after, self.moment) = (path, target, before, after, moment)
    }
}
