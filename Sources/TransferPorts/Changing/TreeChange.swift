package import TransferModel

/// A change that a client requests, with paths of the server's directory. The client's rights were checked before. A
/// change with a version is only made if the file or link that it changes or replaces still has that version.
package enum TreeChange: Sendable {
    /// Attributes that a change sets; those that are nil stay as they are.
    package struct Attributes: Sendable {
        /// Permission bits, 0 to 0o777.
        package let permissions: UInt16?
        package let modified: Timestamp?
        package let extra: ExtraAttributes?

        package init(permissions: UInt16?, modified: Timestamp?, extra: ExtraAttributes?) {
            (self.permissions, self.modified, self.extra) = (permissions, modified, extra)
        }
    }

    /// The result of a change that was made.
    package struct Done: Sendable {
        /// The trash batch that has what was discarded, or the replaced file; nil if there is neither, or if the replaced
        /// file is not kept.
        package let trash: TrashBatch?

        package init(trash: TrashBatch? = nil) { self.trash = trash }
    }

    /// What a change does, without its paths.
    package enum Kind: CaseIterable, Sendable {
        case folder, link, hardLink, set, move, discard
    }

    /// Makes a folder, and missing folders above it.
    case folder(RelativePath, replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// Makes a symbolic link with this target.
    case link(RelativePath, to: [UInt8], replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// Gives a file another name.
    case hardLink(RelativePath, to: RelativePath, replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// Sets attributes of a file, folder or link.
    case set(RelativePath, Attributes, of: FileVersion? = nil)
    case move(RelativePath, to: RelativePath, replaces: Bool, of: FileVersion? = nil)
    /// Moves something into the trash.
    case discard(RelativePath, isRecursive: Bool, of: FileVersion? = nil)

    package var kind: Kind {
        switch self {
        case .folder: .folder
        case .link: .link
        case .hardLink: .hardLink
        case .set: .set
        case .move: .move
        case .discard: .discard
        }
    }

    /// The path that is made, changed, moved or discarded.
    package var path: RelativePath {
        switch self {
        case .folder(let path, _, _, _), .link(let path, _, _, _, _), .hardLink(let path, _, _, _, _),
            .set(let path, _, _),
            .move(let path, _, _, _), .discard(let path, _, _):
            path
        }
    }

    package var version: FileVersion? {
        switch self {
        case .folder(_, _, _, let version), .link(_, _, _, _, let version), .hardLink(_, _, _, _, let version),
            .set(_, _, let version), .move(_, _, _, let version), .discard(_, _, let version):
            version
        }
    }
}

/// A change that is about to be made, with what was found when it was planned.
package struct PlannedChange: Sendable {
    package let change: TreeChange

    /// The path in the trash for something that is discarded.
    package let trashed: RelativePath?

    /// The state that the file at the path must still have; nil for no condition.
    package let compared: ComparedFile?

    /// The object that is moved or changed, of any form; nil if something is made. If another object has the path when
    /// the change is made, the change fails: an upload may have replaced a link.
    package let expected: ContentVersion?

    /// What the change replaces, and the trash batch that keeps it; nil if it is not kept.
    package let place: TrashPlace?

    package init(
        _ change: TreeChange, trashed: RelativePath? = nil, compared: ComparedFile? = nil,
        expected: ContentVersion? = nil, place: TrashPlace? = nil
    ) {
        (self.change, self.trashed, self.compared) = (change, trashed, compared)
        (self.expected, self.place) = (expected, place)
    }
}

/// A file or link that will be replaced, and the trash batch that keeps it.
package struct TrashPlace: Sendable {
    package let path: RelativePath
    package let batch: TrashBatch

    package init(_ path: RelativePath, in batch: TrashBatch) { (self.path, self.batch) = (path, batch) }

    /// Its path in the trash.
    package var target: RelativePath { .trash(batch, path) }
}

/// The result of a change in the store.
package struct MadeChange: Sendable {
    /// The version of the file after the change; nil for anything but a file.
    package let version: ContentVersion?

    /// The replaced file in the trash; nil if none is there.
    package let kept: KeptFile?

    package init(version: ContentVersion?, kept: KeptFile?) { (self.version, self.kept) = (version, kept) }
}
