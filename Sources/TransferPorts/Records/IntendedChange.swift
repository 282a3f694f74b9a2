package import TransferModel

/// A change of a file or folder that a server is about to make. It is noted first, so that the next server can find out
/// whether it was made, and update the catalog.
package struct IntendedChange: Equatable, Sendable {
    /// What is changed. The raw values are stored.
    package enum Form: Int64, CaseIterable, Sendable {
        /// A file gets another path, perhaps in place of another file.
        case move = 1
        /// A folder gets another path, with everything in it.
        case folder = 2
        /// A file gets a second name.
        case link = 3
        /// A file gets other attributes.
        case attributes = 4
        /// A file is replaced by something that is no file.
        case replacement = 5
        /// A replaced file is moved to the trash. Entries of other files under its path stay there.
        case keep = 6
    }

    package let form: Form
    package let path: String

    /// The other path; equal to `path` if the change has only one.
    package let target: String

    /// The version at the path before the change.
    package let before: ContentVersion

    /// The time of modification that the change gives to the file, as in `ContentVersion`; nil if the file keeps its
    /// own.
    package let revision: Int64?

    /// When the change was noted; UTC, in nanoseconds since 1970.
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
    /// The change with the time of modification that the file system has really set.
    package func done(as file: ContentVersion) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: file.revision, at: moment)
    }

    /// The change with the time when it was made: entries that were acknowledged before that time concern the object
    /// that was at the path before the change.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    package func made(at moment: Int64) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: revision, at: max(moment, self.moment))
    }
}

/// Finds out what became of an intended change, from the objects at its paths.
extension IntendedChange {
    /// What the catalog has to record; empty if it is up to date, or if the outcome is unknown.
    ///
    /// - Parameters:
    ///   - source: the object at the path.
    ///   - other: the object at the target, if that is another path.
    ///   - mayBeTold: whether an earlier look may have recorded that the file is at the target, although it no longer
    ///     is.
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
            // Moves back the entries of this file only, whenever they were acknowledged.
            if mayBeTold { changes.moves = [PathMove(target, to: path, object: before.object, at: .min)] }
            changes.versions = restamped(source, at: path)
        } else if source == nil, let other, other.form == .file, other.version.hasSameRevision(as: before) {
            // In a copy of the whole directory, the file has another object number.
            changes.moves = [PathMove(path, to: target, object: before.object, at: moment)]
        }
        return changes
    }

    private func haveBothNames(
        _ source: FoundObject?, _ other: FoundObject?, _ mayBeTold: Bool
    ) -> KnownChanges {
        var changes = linked(source, other)
        // An earlier look may have found only the target, and moved all entries to it.
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
        // In a copy of the whole directory, folders have other object numbers, but the same times.
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

    /// Empty if another program has written to the file meanwhile.
    private func restamped(_ found: FoundObject?, at path: String) -> [VersionChange] {
        guard let after = found?.version, after != before, hasKnownContent(after) else { return [] }
        return [VersionChange(path: path, before: before, after: after)]
    }

    private func hasKnownContent(_ after: ContentVersion) -> Bool {
        after.hasContent(of: before, orSetTo: revision.map { [$0] } ?? [])
    }
}

extension ContentVersion {
    /// Whether a file that this server has changed still has the content that it had before.
    ///
    /// - Parameter revisions: times of modification that this server has set, as in `ContentVersion`.
    package func hasContent(of before: ContentVersion, orSetTo revisions: Set<Int64>) -> Bool {
        object == before.object && size == before.size
            && (revision == before.revision || revisions.contains(revision))
    }
}
