import TransferCodec
import TransferKeys
import TransferModel
import TransferSealing
import TransferSystem

/// The details of an upload that the server must not know, and what it gets instead: a path that says nothing, and a
/// note that only the recipients and the sender can read.
final class SealedUpload: Sendable {
    /// The path of every sealed upload.
    static let wirePath = "sealed.age"

    /// Where the note's details come from.
    enum Subject: Sendable {
        case content(ContentKind, SealedNote.Content, modified: Timestamp?, permissions: UInt16?)
        /// The kind is known when the beginning has been read, size and digest when all has been read.
        case stream(SealingStream, wanted: ContentKind?)
    }

    let push: SealedPush
    let tag: SealedTag

    /// The sender's path of the content.
    let path: RelativePath

    private let subject: Subject
    private let sealedNote = Locked<[UInt8]?>(nil)

    init(_ push: SealedPush, _ tag: SealedTag, _ path: RelativePath, _ subject: Subject) {
        (self.push, self.tag, self.path, self.subject) = (push, tag, path, subject)
    }

    /// The ID of the upload. It does not depend on the source, because the server could compare it with files that it
    /// knows.
    var id: UploadID { UploadID(derivedFrom: tag.digest.bytes) }

    var kind: ContentKind {
        switch subject {
        case .content(let kind, _, _, _): kind
        case .stream(let stream, let wanted): wanted ?? stream.kind
        }
    }

    /// Bytes of content; nil for a stream that has not ended.
    var size: UInt64? { content?.size }

    private var content: SealedNote.Content? {
        switch subject {
        case .content(_, let content, _, _): content
        case .stream(let stream, _): stream.content
        }
    }

    /// The sealed note, which the server hands on; the same bytes on every call.
    ///
    /// - Returns: nil for a stream that has not ended: the note is sent with the end of the upload.
    /// - Throws: `invalidPath` if the note is longer than `mostNoteBytes`, also before a stream has ended.
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
    /// Runs a step of sealing and converts its errors.
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
        "Its name is too long to be sealed for so many recipients: seal it for fewer at a time, or rename it.")
}
