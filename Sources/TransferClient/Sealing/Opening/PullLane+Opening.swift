import TransferModel
import TransferPorts
import TransferStore

extension PullLane {
    /// The publication of a complete and verified file, whose content is opened first if it is sealed.
    ///
    /// - Parameter staged: the staged file of the publication.
    /// - Throws: `unopened`, and why the opened content cannot be stored. A file that came without a note and cannot be
    ///   opened is published as it is.
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
    /// Discards the sealed file once its opened content is published.
    ///
    /// - Parameter part: the stored part of a long file. If the publication failed, the part stays, like that of any
    ///   other file.
    func opened(from part: StagedFile?, _ outcome: Result<PublicationOutcome, Failure>) {
        guard openedSize != nil, case .success = outcome else { return }
        part?.discard()
    }

    /// Whether opened content gets another name than `target`, and that name is free. Then a file at `target` does not
    /// prevent the fetch.
    func mayHaveFreeName(_ here: any TreeReader) -> Bool {
        openedTarget != target && here.attributes(at: openedTarget) == nil
    }
}

extension Failure {
    /// Whether fetched content is of no use for another attempt.
    var isForGood: Bool {
        [.digestMismatch, .sizeMismatch, .contentLost, .unopened].contains(code)
    }
}
