import TransferModel
import TransferStore

/// Is told what came of the publication of a file.
protocol PullPublishing: AnyObject {
    func published(_ outcome: Result<PublicationOutcome, StoreError>)
}
