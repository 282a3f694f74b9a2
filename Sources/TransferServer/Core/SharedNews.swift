import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// Connects what this server announces to its own clients with the other servers of the store: stored uploads and mail. Access lists do so
/// themselves.
final class SharedNews: Sendable {
    /// Uploads that are looked up together.
    private static let atOnce = 256

    private let news: any ServerNews
    private let stored: UploadNews
    private let intake: Intake
    private let pool: BlockingPool
    /// Uploads of other servers that are to be looked up, and whether a job on the pool does so.
    private let waiting = Locked((uploads: NewsBatch(), isBusy: false))

    /// Announces from now on, and listens.
    init(_ news: any ServerNews, _ stored: UploadNews, _ intake: Intake, _ pool: BlockingPool) {
        (self.news, self.stored, self.intake, self.pool) = (news, stored, intake, pool)
        stored.announces { [news] in news.post(NewsBatch(uploads: $0.map(\.id))) }
        intake.mailroom?.announces { [news] in news.post(NewsBatch(people: $0)) }
        news.listen { [weak self] in self?.heard($0) }
    }

    func close() { news.close() }

    private func heard(_ news: NewsBatch) {
        if news.missesPeople {
            intake.mailroom?.mayHaveMissed()
        } else if !news.people.isEmpty {
            intake.mailroom?.heard(of: news.people.lazy.map(\.string))
        }
        guard news.missesUploads || !news.uploads.isEmpty else { return }
        // No query is made for clients that do not listen. A client that comes back looks at everything.
        guard stored.watchers > 0 else { return stored.miss() }
        let begins = waiting.withLock { waiting in
            waiting.uploads.add(news)
            defer { waiting.isBusy = true }
            return !waiting.isBusy
        }
        if begins { pool.submit { [self] in tell() } }
    }

    /// Looks up uploads of other servers, in their order, until none wait.
    private func tell() {
        while let news = next() {
            if news.missesUploads { stored.miss() }
            for start in stride(from: 0, to: news.uploads.count, by: Self.atOnce) {
                let ids = Array(news.uploads[start..<min(start + Self.atOnce, news.uploads.count)])
                let entries = intake.known.entries(for: ids)
                // An upload that is not found may be one of records that could not be read.
                if entries.count == ids.count, entries.allSatisfy({ $0 != nil }) {
                    stored.add(entries.compactMap { $0.flatMap { UploadNews.Item($0) } })
                } else {
                    stored.miss()
                }
            }
        }
    }

    private func next() -> NewsBatch? {
        waiting.withLock { waiting in
            guard waiting.uploads.missesUploads || !waiting.uploads.uploads.isEmpty else {
                waiting.isBusy = false
                return nil
            }
            defer { waiting.uploads = NewsBatch() }
            return waiting.uploads
        }
    }
}
