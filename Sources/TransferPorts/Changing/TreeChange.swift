package import TransferModel

/// What a client wants made or changed in a server's directory, with the server's paths. That it may is asked before. One with a
/// version is only made if what is there, and changes or gives way, is a file or link of this version still.
package enum TreeChange: Sendable {
    /// What something is to be beside its name and content; nothing of what it has stays as it is.
    package struct Attributes: Sendable {
        /// Permission bits, 0 to 0o777.
        package let permissions: UInt16?
        package let modified: Timestamp?
        package let extra: ExtraAttributes?

        package init(permissions: UInt16?, modified: Timestamp?, extra: ExtraAttributes?) {
            (self.permissions, self.modified, self.extra) = (permissions, modified, extra)
        }
    }

    /// What came of one that was made.
    package struct Done: Sendable {
        /// The part of the trash that has what gave way; nil where nothing did, or where it is not kept.
        package let trash: TrashBatch?

        package init(trash: TrashBatch? = nil) { self.trash = trash }
    }

    /// What is done, whatever it is done to.
    package enum Kind: CaseIterable, Sendable {
        case folder, link, hardLink, set, move, discard
    }

    /// A folder, with those above it.
    case folder(RelativePath, replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// A symbolic link that says that.
    case link(RelativePath, to: [UInt8], replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// Another name of a file.
    case hardLink(RelativePath, to: RelativePath, replaces: Bool, Attributes?, of: FileVersion? = nil)
    /// Other attributes of what is there.
    case set(RelativePath, Attributes, of: FileVersion? = nil)
    case move(RelativePath, to: RelativePath, replaces: Bool, of: FileVersion? = nil)
    /// Into the trash.
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

    /// The path that it is about.
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

/// A change as it is going to be made, by what was there when it was looked at.
package struct PlannedChange: Sendable {
    package let change: TreeChange

    /// Where it goes if it is discarded.
    package let trashed: RelativePath?

    /// What has the path, where it has to be that still; nil for whatever is there.
    package let compared: ComparedFile?

    /// What is moved or changed, whatever form it has; nil where something is made. Another object that has the path by then is left:
    /// an upload may have come in the place of a link.
    package let expected: ContentVersion?

    /// What gives way to it, and where that is kept; nil where nothing is.
    package let place: TrashPlace?

    package init(
        _ change: TreeChange, trashed: RelativePath? = nil, compared: ComparedFile? = nil,
        expected: ContentVersion? = nil, place: TrashPlace? = nil
    ) {
        (self.change, self.trashed, self.compared) = (change, trashed, compared)
        (self.expected, self.place) = (expected, place)
    }
}

/// Something that is to give way, and is kept in the trash.
package struct TrashPlace: Sendable {
    package let path: RelativePath
    package let batch: TrashBatch

    package init(_ path: RelativePath, in batch: TrashBatch) { (self.path, self.batch) = (path, batch) }

    /// Where it goes.
    package var target: RelativePath { .trash(batch, path) }
}

/// What has come of a change.
package struct MadeChange: Sendable {
    /// What the file is behind it; nil for what is no file.
    package let version: ContentVersion?

    /// What gave way to it, and is in the trash; nil where nothing is.
    package let kept: KeptFile?

    package init(version: ContentVersion?, kept: KeptFile?) { (self.version, self.kept) = (version, kept) }
}
