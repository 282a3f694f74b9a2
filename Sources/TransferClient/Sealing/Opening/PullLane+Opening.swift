import TransferModel
import TransferPorts
import TransferStore

extension PullLane {
    /// What is to be published of a file that is whole and verified: its content, opened if it was sealed.
    ///
    /// - Parameter staged: what the publication has.
    /// - Throws: `unopened`, and what keeps it from being stored. What came without a note, and cannot be opened, is published
    ///   as it is.
    func opened(
        _ file: PullFile, _ staged: StagedFile, _ publication: Publication
    ) throws(Failure) -> Publication {
        guard let seal = file.seal else { return publication }
        let opening = ContentOpening(
            seal, staged, size: publication.size, file.function(plan.context.configuration),
            stage: { [directory] (size) throws(Failure) in
                try directory.stage(size: size, permissions: publication.permissions ?? 0)
            })
        do throws(ContentOpening.Obstacle) {
            let opened = try opening.run()
            var content = publication
            (content.content, content.path) = (opened.staged, file.openedTarget)
            (content.size, content.digest) = (opened.size, opened.digest)
            file.openedSize = opened.size
            return content
        } catch {
            switch error {
            case .local(let failure): throw failure
            case .seal(let error):
                guard seal.note == nil else { throw .unopened(error, "Its content") }
                return publication
            }
        }
    }
}

extension PullFile {
    /// What was opened is published: what it was opened from is of no more use.
    ///
    /// - Parameter part: that of a long file. When it could not be published, it waits as any part does.
    func opened(from part: StagedFile?, _ outcome: Result<PublicationOutcome, Failure>) {
        guard openedSize != nil, case .success = outcome else { return }
        part?.discard()
    }

    /// Whether a file that has its name may not be in its way: what may be opened has one of two names.
    func mayHaveFreeName(_ here: any TreeReader) -> Bool {
        openedTarget != target && here.attributes(at: openedTarget) == nil
    }
}

extension Failure {
    /// Whether what was fetched is of no use for another attempt.
    var isForGood: Bool {
        [.digestMismatch, .sizeMismatch, .contentLost, .unopened].contains(code)
    }
}
