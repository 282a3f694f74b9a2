import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the answer to the question who has a mailbox, and gives it on when it is whole.
final class PeopleTaker: AnswerTaker {
    private let persons = Locked<[Person]>([])
    private let ended: @Sendable (Result<[Person], PushFailure>) -> Void
    private let again: @Sendable () -> Void

    /// - Parameters:
    ///   - ended: called once, on the pool.
    ///   - lost: called when the question has to be asked again.
    init(
        ended: @escaping @Sendable (Result<[Person], PushFailure>) -> Void, lost: @escaping @Sendable () -> Void
    ) {
        (self.ended, again) = (ended, lost)
    }

    /// - Parameter isAboutItself: whether only the client itself is wanted.
    func asked(isAboutItself: Bool) -> PendingRequest {
        persons.withLock { $0 = [] }
        return PendingRequest(.people(PeopleRequest(id: 0, isAboutItself: isAboutItself)), self)
    }

    func take(_ persons: [ListedPerson]) -> Taken {
        self.persons.withLock { $0 += persons.map { Person($0) } }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        guard outcome.code == .completed else { return ended(.failure(PushFailure(outcome))) }
        ended(.success(persons.withLock { $0 }))
    }

    func lost() { again() }
}

/// Asks who has a mailbox, and nothing else.
final class PeopleQuestion: Sendable {
    let queue = RequestQueue(needs: .mail)
    private let isAboutItself: Bool
    private let events: EventQueue<Person>
    private let reason = Locked<PushFailure?>(nil)
    private let answerer = Locked<KeyFingerprint?>(nil)

    init(isAboutItself: Bool, _ events: EventQueue<Person>) {
        (self.isAboutItself, self.events) = (isAboutItself, events)
        queue.add(asked)
    }

    /// Why there is no answer.
    var failure: PushFailure? { reason.withLock { $0 } }

    /// What the server that has answered is known by.
    var server: KeyFingerprint? { answerer.withLock { $0 } }

    private var asked: PendingRequest {
        let taker = PeopleTaker(
            ended: { [self] found in
                answerer.withLock { $0 = queue.welcome.flatMap { KnownPeople.server($0) } }
                switch found {
                case .success(let persons): for person in persons { events.send(person) }
                case .failure(let failure): reason.withLock { $0 = failure }
                }
                queue.answered()
            },
            lost: { [self] in queue.again(asked) })
        return taker.asked(isAboutItself: isAboutItself)
    }
}

extension PushFailure {
    /// Why a request was not answered.
    init(_ outcome: Outcome) {
        self.init(
            reason: .rejected(outcome.code),
            message: outcome.message.isEmpty ? "The server answers \(outcome.code)." : outcome.message)
    }
}
