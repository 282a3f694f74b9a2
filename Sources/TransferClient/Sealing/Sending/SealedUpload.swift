import TransferKeys
import TransferModel
import TransferSealing
import TransferSystem

/// What the server must not know of an upload, and what it gets in its place: a path that says nothing, and a note that only
/// the recipients and the sender can read.
final class SealedUpload: Sendable {
    /// The path of every sealed upload.
    static let wirePath = "sealed.age"

    /// Where the note's details come from.
    enum Subject: Sendable {
        case content(ContentKind, size: UInt64, modified: Timestamp?, permissions: UInt16?)
        /// Its kind is known when its front was read, and its size when all of it was.
        case stream(SealingStream, wanted: ContentKind?)
    }

    let push: SealedPush
    let tag: SealedTag

    /// As its sender calls it.
    let path: RelativePath

    private let subject: Subject
    private let sealedNote = Locked<[UInt8]?>(nil)

    init(_ push: SealedPush, _ tag: SealedTag, _ path: RelativePath, _ subject: Subject) {
        (self.push, self.tag, self.path, self.subject) = (push, tag, path, subject)
    }

    /// The upload's. Nothing of the source goes into it: the server could compare that with what it knows.
    var id: UploadID { UploadID(derivedFrom: tag.digest.bytes) }

    var kind: ContentKind {
        switch subject {
        case .content(let kind, _, _, _): kind
        case .stream(let stream, let wanted): wanted ?? stream.kind
        }
    }

    /// Bytes of content, as far as that is known.
    var size: UInt64? {
        switch subject {
        case .content(_, let size, _, _): size
        case .stream(let stream, _): stream.size
        }
    }

    /// For the server to hand on. The same one every time.
    ///
    /// - Throws: `invalidPath` when it would be longer than the room for it.
    func note() throws(LocalFailure) -> [UInt8] {
        try sealedNote.withLock { (note) throws(LocalFailure) in
            if let note { return note }
            let made = try sealNote()
            guard made.count <= push.mostNoteBytes else { throw .longNote }
            note = made
            return made
        }
    }

    private func sealNote() throws(LocalFailure) -> [UInt8] {
        var (modified, permissions): (Timestamp?, UInt16?) = (nil, nil)
        if case .content(_, _, let time, let bits) = subject { (modified, permissions) = (time, bits) }
        let note = SealedNote(
            path, kind, size: size, modified: modified, permissions: permissions, of: tag, by: push.identity.key)
        return try LocalFailure.whileSealing { () throws(SealingError) in
            try note.sealed(for: push.readers)
        }
    }
}

extension LocalFailure {
    /// Does a step of sealing.
    static func whileSealing<Value>(_ body: () throws(SealingError) -> Value) throws(LocalFailure) -> Value {
        do throws(SealingError) {
            return try body()
        } catch {
            switch error {
            case .otherSource: throw .changed
            case .tooLarge: throw LocalFailure(code: .uploadTooLarge, message: error.message)
            default: throw LocalFailure(code: .sourceUnreadable, message: "It could not be sealed: \(error.message)")
            }
        }
    }

    fileprivate static let longNote = LocalFailure(
        code: .invalidPath,
        message: "Its name is too long to be sealed for so many: seal it for fewer people at a time, or rename it.")
}
