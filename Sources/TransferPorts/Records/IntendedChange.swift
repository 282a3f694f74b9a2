package import TransferModel

/// What a server is about to do with a file or folder, noted before it does it: whatever ends it in the middle, the next one can
/// tell which of the two states is there, and lets the catalog say so.
package struct IntendedChange: Equatable, Sendable {
    /// The numbers are stored.
    package enum Form: Int64, CaseIterable, Sendable {
        /// A file gets another path, perhaps in place of another file.
        case move = 1
        /// A folder gets another path, with all that is in it.
        case folder = 2
        /// A file gets a second name.
        case link = 3
        /// A file gets other attributes.
        case attributes = 4
        /// A file gives way to something that is no file.
        case replacement = 5
        /// A file gives way and is kept at the target. What the catalog knows of other files under its path stays there.
        case keep = 6
    }

    package let form: Form
    package let path: String

    /// The other path; where there is none, the same one.
    package let target: String

    /// What has the path before.
    package let before: ContentVersion

    /// The time of modification that the file is given, as versions have it; nothing where it keeps its own.
    package let revision: Int64?

    /// When it was intended; UTC, in nanoseconds since 1970.
    package let moment: Int64

    package init(
        _ form: Form, _ path: String, to target: String? = nil, before: ContentVersion, revision: Int64? = nil,
        at moment: Int64
    ) {
        (self.form, self.path, self.target) = (form, path, target ?? path)
        (self.before, self.revision, self.moment) = (before, revision, moment)
    }
}

extension IntendedChange {
    /// The same, with all that a file system has made of the attributes.
    package func done(as file: ContentVersion) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: file.revision, at: moment)
    }

    /// The same behind it: all that was acknowledged by then is about what was there before.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    package func made(at moment: Int64) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: revision, at: max(moment, self.moment))
    }
}

/// What has become of an intended change, by what is there.
extension IntendedChange {
    /// What the catalog has to say from now on; no changes where it says so already, or where that cannot be told.
    ///
    /// - Parameters:
    ///   - source: what has the path.
    ///   - other: what has the target, where that is another path.
    ///   - mayBeTold: whether an earlier look may have let the catalog know the file at the target, where it is not any more.
    package func outcome(
        _ source: FoundObject?, _ other: FoundObject?, mayBeTold: Bool = true
    ) -> KnownChanges {
        switch form {
        case .move: moved(source, other, mayBeTold)
        case .keep: kept(source, other, mayBeTold)
        case .folder: movedFolder(source, other, mayBeTold)
        case .link: linked(source, other)
        case .attributes: changed(source)
        case .replacement: replaced(source)
        }
    }

    private func isSame(_ found: FoundObject?) -> Bool {
        found.map { $0.version.object == before.object && $0.form == (form == .folder ? .folder : .file) } ?? false
    }

    private func moved(_ source: FoundObject?, _ other: FoundObject?, _ mayBeTold: Bool) -> KnownChanges {
        // Some file systems leave both names of a rename that a power cut has interrupted.
        if isSame(other), isSame(source) { return haveBothNames(source, other, mayBeTold) }
        var changes = KnownChanges()
        if isSame(other) {
            changes.moves = [
                PathMove(path, to: target, object: before.object, revision: before.revision, at: moment)
            ]
            changes.versions = restamped(other, at: target)
        } else if isSame(source) {
            // This file alone, whenever it was acknowledged.
            if mayBeTold { changes.moves = [PathMove(target, to: path, object: before.object, at: .min)] }
            changes.versions = restamped(source, at: path)
        } else if source == nil, let other, other.form == .file, other.version.hasSameRevision(as: before) {
            // A copy of the whole directory has other objects.
            changes.moves = [PathMove(path, to: target, object: before.object, at: moment)]
        }
        return changes
    }

    private func haveBothNames(
        _ source: FoundObject?, _ other: FoundObject?, _ mayBeTold: Bool
    ) -> KnownChanges {
        var changes = linked(source, other)
        // An earlier look may have found the target alone, and moved all that was known to it.
        if mayBeTold, let version = other?.version, hasKnownContent(version) {
            changes.returned = [PathLink(target, as: path, before: version, after: version, at: moment)]
        }
        return changes
    }

    private func kept(_ source: FoundObject?, _ other: FoundObject?, _ mayBeTold: Bool) -> KnownChanges {
        var changes = moved(source, other, mayBeTold)
        (changes.kept, changes.moves) = (changes.moves.map(\.alone), [])
        return changes
    }

    private func movedFolder(_ source: FoundObject?, _ other: FoundObject?, _ mayBeTold: Bool) -> KnownChanges {
        var changes = KnownChanges()
        // A copy of the whole directory has other objects, with the same times.
        let isCopied = source == nil && other?.form == .folder && other?.version.revision == before.revision
        if isSame(other) || isCopied {
            changes.moves = [PathMove(path, to: target, at: moment)]
        } else if mayBeTold, isSame(source), other == nil {
            changes.moves = [PathMove(target, to: path, at: moment)]
        }
        return changes
    }

    private func linked(_ source: FoundObject?, _ other: FoundObject?) -> KnownChanges {
        var changes = KnownChanges()
        if isSame(other), let after = other?.version {
            changes.replaced = [KnownChanges.Replaced(target, by: before.object, at: moment)]
            if hasKnownContent(after) {
                changes.links = [PathLink(path, as: target, before: before, after: after, at: moment)]
            }
        }
        if isSame(source) { changes.versions = restamped(source, at: path) }
        return changes
    }

    private func changed(_ source: FoundObject?) -> KnownChanges {
        var changes = KnownChanges()
        if isSame(source) { changes.versions = restamped(source, at: path) }
        return changes
    }

    private func replaced(_ source: FoundObject?) -> KnownChanges {
        var changes = KnownChanges()
        if source?.form != .file { changes.replaced = [KnownChanges.Replaced(path, at: moment)] }
        return changes
    }

    /// Nothing where somebody else has written to the file meanwhile.
    private func restamped(_ found: FoundObject?, at path: String) -> [VersionChange] {
        guard let after = found?.version, after != before, hasKnownContent(after) else { return [] }
        return [VersionChange(path: path, before: before, after: after)]
    }

    private func hasKnownContent(_ after: ContentVersion) -> Bool {
        after.hasContent(of: before, orSetTo: revision.map { [$0] } ?? [])
    }
}

extension ContentVersion {
    /// Whether a file that this server has changed has the content that it had before.
    ///
    /// - Parameter revisions: times of modification that this server has given it, as versions have them.
    package func hasContent(of before: ContentVersion, orSetTo revisions: Set<Int64>) -> Bool {
        object == before.object && size == before.size
            && (revision == before.revision || revisions.contains(revision))
    }
}
