import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// What a request that changes something makes itself depend on.
struct HTTPConditions {
    private let conditions: Preconditions
    private let place: RelativePath?

    /// - Parameter place: of what they are about; nothing for a client that may not see it, which learns nothing by them.
    init(_ conditions: Preconditions, on place: RelativePath?) {
        (self.conditions, self.place) = (conditions, place)
    }

    /// Those of the request that created an upload, for the request that completes it.
    ///
    /// - Parameter place: as above.
    init(_ note: UploadNote, on place: RelativePath?) throws(HTTPFault) {
        var fields = HTTPFields()
        if !note.match.isEmpty { fields.append(HTTPField(name: "If-Match", value: note.match)) }
        if note.isOnlyNew { fields.append(HTTPField(name: "If-None-Match", value: Array("*".utf8))) }
        self.init(try Preconditions(fields, now: .now), on: place)
    }

    /// Whether what is there now is what the request demands.
    func hold(_ files: ConnectionFiles) -> Bool {
        conditions.isEmpty || conditions.outcome(of: present(files), isRead: false) == .proceed
    }

    /// Compares them before an upload is published, which spares the sync, and lets the store compare them again when it gets its path.
    /// Uploads that replace nothing, whatever is there, are compared here alone.
    ///
    /// - Throws: `conditionFails`.
    func demand(of upload: OpenUpload, _ files: ConnectionFiles) throws(Failure) {
        guard hold(files) else { throw .conditionFails }
        switch upload.intent.conflict {
        case .overwrite, .fail: upload.condition = forPublication(files)
        case .keepBoth, .skip: break
        }
    }

    private func forPublication(_ files: ConnectionFiles) -> PublicationCondition? {
        guard !conditions.isEmpty else { return nil }
        guard let place else { return conditions.demandsNothing ? .onlyNew : nil }
        let (conditions, details) = (conditions, files.details(at: place))
        return PublicationCondition { attributes in
            let current = attributes.map { Preconditions.Current($0, $0.isDirectory ? nil : details($0)) }
            return conditions.outcome(of: current, isRead: false) == .proceed
        }
    }

    /// - Returns: the version of the file that they hold for; nothing for a folder, or where nothing is demanded.
    /// - Throws: 412 where they do not hold.
    func version(_ files: ConnectionFiles) throws(HTTPFault) -> FileVersion? {
        guard !conditions.isEmpty else { return nil }
        // Read before they are looked at: what is stored since has another one.
        let version = place.flatMap { files.attributes(at: $0) }?.fileVersion
        guard hold(files) else { throw .conditionsFail }
        return version == FileVersion.none ? nil : version
    }

    private func present(_ files: ConnectionFiles) -> Preconditions.Current? {
        guard let place, let attributes = files.attributes(at: place) else { return nil }
        return Preconditions.Current(
            attributes, attributes.isDirectory ? nil : files.digest(of: attributes, at: place))
    }
}
