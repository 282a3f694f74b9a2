import TransferIntake
import TransferModel
import TransferPorts

/// An operation of a server that changes its state, or answers from it. An operation has happened in a run if it has
/// succeeded there at least once.
public enum Operation: String, CaseIterable, Sendable {
    // Uploads.
    case begin, append, seal, publish, acknowledge, sign, heal
    /// The client does not want the upload any more, or its connection ends.
    case abort, suspend
    case part, sealParts, survey, takeBack
    case grow, takeBackAppend
    case lookup, compareFolders
    // Names, folders and attributes.
    case makeFolder, makeLink, makeHardLink, setAttributes, move, discard, restore, remove, emptyTrash, copy
    /// The store keeps replaced content, and removes it when its space is needed.
    case keep, giveWay
    // Mailboxes.
    case mail, fetchMail, receiveMail, declineMail, expireMail, sweepMail, introduce
    // Work that no client has asked for.
    case resolveChanges, expire, scrub, adopt
    /// A server of a cluster copies what is left of objects that are mostly dead.
    case rewrite
    /// A client loses its right to send uploads, or gets it back.
    case restrict

    /// The operation that makes a change of names.
    init(_ change: TreeChange) {
        if case .move(let path, _, _, _) = change, Medium.isInTrash(path.string) {
            self = .restore
            return
        }
        self = Operation(change.kind)
    }

    init(_ kind: TreeChange.Kind) {
        switch kind {
        case .folder: self = .makeFolder
        case .link: self = .makeLink
        case .hardLink: self = .makeHardLink
        case .set: self = .setAttributes
        case .move: self = .move
        case .discard: self = .discard
        }
    }
}
