import TransferCodec
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
        case content(ContentKind, SealedNote.Content, modified: Timestamp?, permissions: UInt16?)
        /// Its kind is known when its front was read, and its size and digest when all of it was.
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
    var size: UInt64? { content?.size }

    private var content: SealedNote.Content? {
        switch subject {
        case .content(_, let content, _, _): content
        case .stream(let stream, _): stream.content
        }
    }

    /// For the server to hand on. The same one every time.
    ///
    /// - Returns: nil for a stream that has not come to its end: the note goes with what ends the upload.
    /// - Throws: `invalidPath` when it would be longer than the room for it, also for a stream that goes on.
    func note() throws(Failure) -> [UInt8]? {
        try sealedNote.withLock { (note) throws(Failure) in
            if let note { return note }
            let content = content
            // The length of a note does not depend on the content.
            let made = try sealNote(content ?? .nothing)
            guard made.count <= push.mostNoteBytes else { throw .longNote }
            if content != nil { note = made }
            return note
        }
    }

    private func sealNote(_ content: SealedNote.Content) throws(Failure) -> [UInt8] {
        var (modified, permissions): (Timestamp?, UInt16?) = (nil, nil)
        if case .content(_, _, let time, let bits) = subject { (modified, permissions) = (time, bits) }
        let note = SealedNote(
            path, kind, content, modified: modified, permissions: permissions, of: tag, by: push.identity.key)
        return try Failure.whileSealing { () throws(SealingError) in
            try note.sealed(for: push.readers)
        }
    }
}

extension SealedNote.Content {
    /// The content of an empty file.
    fileprivate static var nothing: Self {
        Self(
            size: 0,
            digest: ContentDigester.digest(SealedNote.digestFunction, UnsafeRawBufferPointer(start: nil, count: 0)))
    }
}

extension Failure {
    /// Does a step of sealing.
    static func whileSealing<Value>(_ body: () throws(SealingError) -> Value) throws(Failure) -> Value {
        do throws(SealingError) {
            return try body()
        } catch {
            switch error {
            case .otherSource: throw .changed
            case .tooLarge: throw Failure(.uploadTooLarge, error.message)
            default: throw Failure(.sourceUnreadable, "It could not be sealed: \(error.message)")
            }
        }
    }

    fileprivate static let longNote = Failure(
        .invalidPath,
        "Its name is too long to be sealed for so many: seal it for fewer people at a time, or rename it.")
}
