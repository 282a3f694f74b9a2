import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the answer to the question who has a mailbox, and gives it on when it is whole.
final class PeopleTaker: AnswerTaker {
    private let persons = Locked<[Person]>([])
    private let isAboutItself: Bool
    private let ended: @Sendable (Result<[Person], PushFailure>) -> Void
    private let again: @Sendable () -> Void

    /// - Parameters:
    ///   - isAboutItself: whether only the client itself is wanted.
    ///   - ended: called once, on the pool.
    ///   - lost: called when the question has to be asked again.
    init(
        isAboutItself: Bool, ended: @escaping @Sendable (Result<[Person], PushFailure>) -> Void,
        lost: @escaping @Sendable () -> Void
    ) {
        (self.isAboutItself, self.ended, again) = (isAboutItself, ended, lost)
    }

    var asked: PendingRequest {
        persons.withLock { $0 = [] }
        return PendingRequest(.people(PeopleRequest(id: 0, isAboutItself: isAboutItself)), self)
    }

    func take(_ persons: [ListedPerson]) -> Taken {
        let count = self.persons.withLock { known in
            known += persons.map { Person($0) }
            return known.count
        }
        // A client has one name, and no other one is its own.
        guard !isAboutItself || count <= 1 && persons.allSatisfy(\.isClient) else {
            return .fault(
                ProtocolFault(.unexpectedFrame, "The server does not say who this client is, and of one alone."))
        }
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
            isAboutItself: isAboutItself,
            ended: { [self] found in
                answerer.withLock { $0 = queue.welcome.flatMap { KnownPeople.server($0) } }
                switch found {
                case .success(let persons): for person in persons { events.send(person) }
                case .failure(let failure): reason.withLock { $0 = failure }
                }
                queue.answered()
            },
            lost: { [self] in queue.again(asked) })
        return taker.asked
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
