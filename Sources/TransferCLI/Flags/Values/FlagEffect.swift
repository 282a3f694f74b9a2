/// A flag with its effect on a configuration. A command makes its configuration by applying the effects of all its
/// flags.
struct FlagEffect<Subject>: Sendable {
    let flag: Flag

    private let apply: @Sendable (ParsedArguments, inout Subject) throws(UsageError) -> Void

    init(_ flag: Flag, _ apply: @escaping @Sendable (ParsedArguments, inout Subject) throws(UsageError) -> Void) {
        (self.flag, self.apply) = (flag, apply)
    }

    func callAsFunction(_ arguments: ParsedArguments, on subject: inout Subject) throws(UsageError) {
        try apply(arguments, &subject)
    }
}

extension FlagKey {
    /// - Parameter set: applies the value, which may be the default.
    func sets<Subject>(
        _ set: @escaping @Sendable (inout Subject, Value) throws(UsageError) -> Void
    ) -> FlagEffect<Subject> {
        FlagEffect(flag) { (arguments, subject) throws(UsageError) in
            let value: Value
            do throws(Fault) {
                value = try read(arguments, flag)
            } catch {
                throw error.usage
            }
            try set(&subject, value)
        }
    }

    func sets<Subject>(_ path: any WritableKeyPath<Subject, Value> & Sendable) -> FlagEffect<Subject> {
        sets { subject, value in subject[keyPath: path] = value }
    }

    /// If the flag has no value, the configuration stays as it is.
    func sets<Subject, Given>(
        _ path: any WritableKeyPath<Subject, Given> & Sendable
    ) -> FlagEffect<Subject> where Value == Given? {
        sets { subject, value in
            if let value { subject[keyPath: path] = value }
        }
    }
}
