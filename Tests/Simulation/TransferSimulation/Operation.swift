import TransferIntake
import TransferModel
import TransferPorts

/// What a server does that changes its state, or answers from it: each of them has happened in a run where it has succeeded
/// at least once.
public enum Operation: String, CaseIterable, Sendable {
    // Uploads.
    case begin, append, seal, publish, acknowledge, sign, heal
    /// What was begun is not wanted any more, or its connection ends.
    case abort, suspend
    case part, sealParts, survey, takeBack
    case grow, takeBackAppend
    case lookup, compareFolders
    // Names, folders and attributes.
    case makeFolder, makeLink, makeHardLink, setAttributes, move, discard, restore, remove, emptyTrash, copy
    /// What has been replaced is kept, and gives way where its room is needed.
    case keep, giveWay
    // Mailboxes.
    case mail, fetchMail, receiveMail, declineMail, expireMail, sweepMail, introduce
    // The server by itself.
    case resolveChanges, expire, scrub, adopt
    /// Somebody takes a client's right to send away, or gives it back.
    case restrict

    /// What is done by a change of names.
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
