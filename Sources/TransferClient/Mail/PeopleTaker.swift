import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the list of people with mailboxes, and passes it on when it is complete.
final class PeopleTaker: AnswerTaker {
    fileprivate struct State {
        var persons: [Person] = []
        var budget: ListBudget
        /// The reason why some people of the list are not kept; nil if all are.
        var failure: TransferFailure?
    }

    private let state: Locked<State>
    private let budget: ListBudget
    private let isAboutItself: Bool
    private let ended: @Sendable (Result<[Person], TransferFailure>) -> Void
    private let again: @Sendable () -> Void

    /// - Parameters:
    ///   - isAboutItself: whether only the client itself is asked about.
    ///   - budget: the memory for the list.
    ///   - ended: called once, on the pool.
    ///   - lost: called if the question must be asked again.
    init(
        isAboutItself: Bool, _ budget: ListBudget,
        ended: @escaping @Sendable (Result<[Person], TransferFailure>) -> Void,
        lost: @escaping @Sendable () -> Void
    ) {
        (self.isAboutItself, self.ended, again) = (isAboutItself, ended, lost)
        self.budget = budget
        state = Locked(State(budget: budget))
    }

    var asked: PendingRequest {
        state.withLock { $0 = State(budget: budget) }
        return PendingRequest(.people(PeopleRequest(id: 0, isAboutItself: isAboutItself)), self)
    }

    func take(_ persons: [ListedPerson]) -> Taken {
        let (count, failure) = state.withLock { state in
            for person in persons where state.failure == nil { state.take(Person(person)) }
            return (state.persons.count, state.failure)
        }
        guard failure == nil else { return .unwanted }
        // At most one person, this client, answers the question about itself.
        guard !isAboutItself || count <= 1 && persons.allSatisfy(\.isClient) else {
            return .fault(
                ProtocolFault(.unexpectedFrame, "The server answered the question who this client is with other users.")
            )
        }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        let (persons, failure) = state.withLock { ($0.persons, $0.failure) }
        if let failure { return ended(.failure(failure)) }
        guard outcome.code == .completed else { return ended(.failure(TransferFailure(outcome))) }
        ended(.success(persons))
    }

    func lost() { again() }
}

extension PeopleTaker.State {
    fileprivate mutating func take(_ person: Person) {
        do throws(TransferFailure) {
            try budget.hold(ListBudget.bytes(path: person.name.utf8.count + (person.sealingKey?.count ?? 0), nil))
            persons.append(person)
        } catch {
            failure = error
        }
    }
}

/// A queue with a single question: who has a mailbox.
final class PeopleQuestion: Sendable {
    let queue = RequestQueue(needs: .mail)
    private let isAboutItself: Bool
    private let budget: ListBudget
    private let events: EventQueue<Person>
    private let reason = Locked<TransferFailure?>(nil)
    private let answerer = Locked<KeyFingerprint?>(nil)

    init(isAboutItself: Bool, _ budget: ListBudget, _ events: EventQueue<Person>) {
        (self.isAboutItself, self.budget, self.events) = (isAboutItself, budget, events)
        queue.add(asked)
    }

    /// Why the question was not answered; nil if it was.
    var failure: TransferFailure? { reason.withLock { $0 } }

    /// The fingerprint of the server that has answered.
    var server: KeyFingerprint? { answerer.withLock { $0 } }

    private var asked: PendingRequest {
        let taker = PeopleTaker(
            isAboutItself: isAboutItself, budget,
            ended: { [self] found in
                answerer.withLock { $0 = queue.server?.fingerprint }
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

extension TransferFailure {
    /// The failure of a refused request.
    init(_ outcome: Outcome) {
        self.init(
            reason: .rejected(outcome.code), message: outcome.withReason.message)
    }
}

extension Outcome {
    /// The same outcome, with a sentence for the user if the server gives no reason for a failure.
    var withReason: Outcome {
        guard message.isEmpty, !code.isSuccess else { return self }
        var outcome = self
        outcome.message = "The server answers \(code) without a reason."
        return outcome
    }
}
