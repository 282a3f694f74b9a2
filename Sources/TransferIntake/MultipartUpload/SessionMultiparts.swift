import TransferModel
import TransferPorts

/// The multipart and append uploads that one session works on.
///
/// A multipart upload is entered with the session's first part of it, and left when the session ends. An append upload
/// is left after each request, because the next request may come over another connection.
struct SessionMultiparts {
    /// The most multipart uploads that one connection may have under way; each holds a descriptor and a file.
    static let most = 64

    private let intake: Intake
    private let connection: IntakeSession.Connection
    private var entered: [UploadID: MultipartUpload] = [:]
    private var appending: MultipartUpload?

    init(_ intake: Intake, _ connection: IntakeSession.Connection) {
        (self.intake, self.connection) = (intake, connection)
    }

    /// Whether any entered multipart upload is neither complete nor given up.
    var hasUnfinished: Bool { entered.values.contains { !$0.isFinished } }

    /// Whether the session has worked on the multipart upload, and it is not finished.
    func contains(_ id: UploadID) -> Bool { entered[id].map { !$0.isFinished } ?? false }

    /// The multipart or append upload that an upload is a part or a request of, or ends; nil for whole uploads, and for
    /// the end of an upload that is not in memory.
    mutating func multipart(
        of admission: UploadAdmission, for accountHolder: AccountHolder
    ) throws(Failure) -> MultipartUpload? {
        switch admission.intent.extent {
        case .whole: nil
        case .multipart: intake.multiparts[admission.intent.id]
        case .part(let part): try enter(part.upload, total: part.total, admission, for: accountHolder)
        case .append(let append): try enter(append, admission, for: accountHolder)
        }
    }

    private mutating func enter(
        _ append: UploadAppend, _ admission: UploadAdmission, for accountHolder: AccountHolder
    ) throws(Failure) -> MultipartUpload {
        let id = admission.intent.id
        if append.isNew { try intake.makePlace(for: admission.caller) }
        let multipart = try intake.multiparts.enter(
            id, total: nil, nil, accountHolder: accountHolder, now: intake.clock.monotonic())
        appending = multipart
        if append.isNew { noteUnfinished(id, total: append.total, admission) }
        return multipart
    }

    /// - Parameters:
    ///   - admission: the admission of a part, or of a question about the whole upload.
    ///   - isBegun: whether this begins the upload.
    mutating func enter(
        _ id: UploadID, total: UInt64?, _ admission: UploadAdmission, for accountHolder: AccountHolder,
        isBegun: Bool = true
    ) throws(Failure) -> MultipartUpload {
        let function = admission.intent.function
        if let known = entered[id], !known.isFinished {
            try known.check(total: total, function)
            if isBegun { noteUnfinished(id, total: total, admission) }
            return known
        }
        entered = entered.filter { !$0.value.isFinished }
        guard entered.count < Self.most else {
            throw Failure(.busy, "Too many uploads in parts are unfinished on this connection.")
        }
        if isBegun, intake.multiparts[id] == nil, intake.known.unfinished(id) == nil {
            try intake.makePlace(for: admission.caller)
        }
        let multipart = try intake.multiparts.enter(
            id, total: total, function, accountHolder: accountHolder, now: intake.clock.monotonic())
        entered[id] = multipart
        if isBegun { noteUnfinished(id, total: total, admission) }
        return multipart
    }

    /// Records the upload as unfinished, with what is declared now. The record is written later, so that no client
    /// waits for it.
    private func noteUnfinished(_ id: UploadID, total: UInt64?, _ admission: UploadAdmission) {
        let (intent, caller) = (admission.intent, admission.caller)
        let upload = UnfinishedUpload(
            id: id, path: intent.path, size: total, kind: intent.kind, function: intent.function,
            conflict: intent.conflict, modified: intent.modified, permissions: intent.permissions,
            sender: caller.sender, client: caller.id, begun: intake.clock.utc(), run: admission.run)
        guard intake.known.begin(upload) else { return }
        connection.later { [known = intake.known] in known.recordUnfinished() }
    }

    /// Leaves a multipart upload if its part was refused before any content arrived, so that it does not count against
    /// the connection's few.
    mutating func leaveEmpty(_ intent: UploadIntent) {
        guard case .part(let part) = intent.extent, let multipart = entered[part.upload], multipart.isEmpty else {
            return
        }
        entered[part.upload] = nil
        intake.multiparts.leave(multipart, now: intake.clock.monotonic())
    }

    /// Leaves the append upload after a request.
    mutating func leaveAppend() {
        guard let multipart = appending else { return }
        appending = nil
        intake.multiparts.leave(multipart, now: intake.clock.monotonic())
    }

    /// Leaves all uploads when the connection is lost.
    mutating func leaveAll() {
        let now = intake.clock.monotonic()
        for multipart in entered.values { intake.multiparts.leave(multipart, now: now) }
        entered = [:]
    }
}
