import Synchronization
import TransferAccess
import TransferClassic
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Performs the steps of a classic framing: makes uploads of the client's messages.
///
/// Used by one thread at a time, by its `UploadWorker`.
final class ClassicSteps: StepPerformer {
    typealias Batch = ClassicBatch

    private enum State {
        case idle
        /// The upload waits for more content, from which its name is made.
        case opening(BegunUpload, [UInt8])
        /// The upload has begun. The hasher computes the content's SHA-256, if clients may state that.
        case open(BlockHasher?)
    }

    let uploads: ConnectionUploads

    private let hasDigests: Bool
    /// Nil in framings without names.
    private let guests: ChatGuests?
    /// The client's name; nil until it is admitted.
    private var name: String?
    /// Why the client's uploads are refused; nil if they are not.
    private var refusal: Failure?
    private var state = State.idle
    /// Places of the unsettled uploads, by the server's IDs.
    private var places: [UploadID: Int] = [:]
    private var outcome = ClassicOutcome()

    /// - Parameters:
    ///   - hasDigests: whether clients may state the SHA-256 of the content.
    ///   - guests: admits clients with their names; nil in framings without names.
    init(_ uploads: ConnectionUploads, hasDigests: Bool, guests: ChatGuests? = nil) {
        (self.uploads, self.hasDigests, self.guests) = (uploads, hasDigests, guests)
    }

    /// Answers are short, so none has to be continued in a later turn.
    let (isAnswering, hasRoom, isOver) = (false, true, false)

    func perform(_ step: ClassicBatch.Operation, _ content: UnsafeRawBufferPointer) {
        switch step {
        case .present(let name): signIn(name)
        // The upload is ignored: the client learns that it may not have its name, whatever it has sent.
        case .begin where isRefused: break
        case .begin(let begun):
            state = .opening(begun, [])
            // A client that declares too large an upload gets the refusal before it sends any content.
            if let size = begun.upload.size, size > largest { open(begun, [], isWhole: false) }
        case .content: take(content)
        case .decoded(let bytes): bytes.withUnsafeBytes { take($0) }
        case .end(let end): self.end(end)
        case .abort: abort()
        }
    }

    func goOnAnswering() {}

    func settled(_ settled: EndedUpload) {
        guard let place = places.removeValue(forKey: settled.upload.intent.id) else { return }
        let path = settled.upload.intent.path
        outcome.results.append((place, ClassicResult(settled.outcome, askedFor: path, by: uploads.intake.caller)))
    }

    /// Classic framings have no receipts.
    func signed(_ batch: SignedBatch) {}

    func endTurn(leaving left: BatchPipe<ClassicBatch>.Left, refusal: Refusal?) -> ClassicOutcome {
        defer { outcome = ClassicOutcome() }
        outcome.left = left
        return outcome
    }

    /// An upload that waits for its name is begun, so that it ends with a line in the log.
    func connectionEnded() {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
    }
}

// MARK: Names

extension ClassicSteps {
    /// Whether the client's uploads are refused because it may not have its name, or no longer may.
    private var isRefused: Bool {
        if refusal == nil, let guests, let name, !guests.mayKeep(name) {
            refusal = .nameTaken(name)
            outcome.signIn = .failure(.nameTaken(name))
        }
        return refusal != nil
    }

    /// Admits the client under a name, which is the sender of all later uploads.
    private func signIn(_ name: String) {
        guard let guests else { return }
        do throws(Failure) {
            uploads.intake.caller = try guests.admit(name)
            self.name = name
            outcome.signIn = .success(name)
        } catch {
            refusal = error
            outcome.signIn = .failure(error)
        }
    }
}

// MARK: One upload

extension ClassicSteps {
    private var largest: UInt64 {
        let intake = uploads.intake
        return intake.caller.maximumUpload(of: intake.intake.maximumUpload)
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .idle: break
        case .opening(let begun, let head):
            let head = head + bytes
            // Without a transmitted name, the content decides the name.
            guard begun.upload.name != nil || head.count >= ContentFormat.sampleSize else {
                state = .opening(begun, head)
                return
            }
            open(begun, head, isWhole: false)
        case .open(let hasher): append(bytes, hasher)
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ hasher: BlockHasher?) {
        settled(
            uploads.write { (upload) throws(Failure) in
                hasher?.update(bytes)
                try upload.write(bytes)
            })
    }

    private func open(_ begun: BegunUpload, _ head: [UInt8], isWhole: Bool) {
        let hasher = hasDigests ? BlockHasher(.sha256) : nil
        state = .open(hasher)
        let id = UploadID.random()
        places[id] = begun.place
        let intent = UploadIntent(begun.upload, id: id, beginning: head, isWhole: isWhole)
        if let refused = uploads.begin(intent, mayEnd: false) { return settled(refused) }
        let late = uploads.isAbandoned.load(ordering: .relaxed) ? Failure.serverStopping : nil
        if let refusal = begun.refusal ?? late {
            return settled(uploads.write { (_) throws(Failure) in throw refusal })
        }
        uploads.noteBeginning()
        head.withUnsafeBytes { append($0, hasher) }
    }

    private func end(_ end: ClassicEnd) {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: true) }
        guard case .open(let hasher) = state else { return }
        state = .idle
        if let declared = end.digest, let hasher, Digest(.sha256, hasher.finish()) != declared {
            settled(uploads.write { (_) throws(Failure) in throw .wrongDigest })
        }
        settled(uploads.finish(DeclaredEnd(size: end.size)))
    }

    private func abort() {
        if case .opening(let begun, let head) = state { open(begun, head, isWhole: false) }
        state = .idle
        settled(uploads.abort())
    }
}

extension Failure {
    fileprivate static let wrongDigest = Failure(
        .digestMismatch, "The content that arrived does not have the declared SHA-256: send it again.")
}
